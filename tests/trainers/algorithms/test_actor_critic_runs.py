"""Runs with DDPG, TD3 and SAC: how they act, beside whom, and that they resume exactly."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.cases import seldom
from tests.trainers.algorithms.swinging import DDPG, KINDS, SAC, SMALL, config, trained
from warpworld.config import config_from_dict, load_config
from warpworld.environment import get_environment
from warpworld.errors import RunError
from warpworld.policies.stacking import StackingPolicy
from warpworld.runs import Run
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.players import Scripted
from warpworld.trainers.evaluate import evaluate, load_policies
from warpworld.trainers.play import play, play_groups
from warpworld.trainers.trainer import Trainer
from warpworld.world import World

TWO = pytest.mark.parametrize("entry", [DDPG, SAC], ids=["ddpg", "sac"])  # where TD3 acts as DDPG does


# ---- acting ----------------------------------------------------------------------------------------------------------
@TWO
def test_actions_are_uniform_until_there_is_enough_to_learn_from(entry: Mapping[str, Any]) -> None:
    trainer = Trainer(config({**entry, "learning_starts": 48}))
    at_random = trainer.world["at_random_agent"]
    seen = []
    for _ in range(4):
        seen.append(bool(at_random))
        trainer.collector.collect()
        trainer._learn()
    assert seen == [True, True, True, False]


def test_noise_follows_its_schedule() -> None:
    trainer = Trainer(config({**DDPG, "noise_scale": [[0, 1.0], [32, 0.0]]}))
    scale, seen = trainer.world["noise_scale_agent"], []
    for _ in range(4):
        seen.append(float(scale))
        trainer._iterate()
    assert seen == [1.0, 1.0, 0.5, 0.0]


@TWO
def test_a_policy_acts_from_python_as_in_a_world(entry: Mapping[str, Any], tmp_path: Path) -> None:
    trainer = Trainer(config(entry))
    run = trainer.create_run(tmp_path)
    assert run is not None
    trainer.train(run)
    policy = load_policies(run)["agent"]
    assert policy is not None
    world = World(get_environment("pendulum")(), 50, seed=3)
    actor = Actor(world, "agent", policy.to(world.device), "act_greedily")
    world.reset()
    actor.act()
    acted = policy.act(world["observations"], greedy=True)
    torch.testing.assert_close(acted, world["actions"])
    assert acted.abs().max() <= 2.0
    value = policy.value(world["observations"].flatten(0, 1), acted.flatten(0, 1) / 2)
    assert value.shape == (50,)
    assert evaluate(run, episodes=20, greedy=True)["agent"]["mean_return"] < 0


# ---- several agents, groups and parts of observations ----------------------------------------------------------------
def steered(entries: Mapping[str, Mapping[str, Any]], **env: Any) -> Trainer:
    model = {
        "type": "multi_input",
        "kernel_sizes": [2],
        "strides": [1],
        "channels": [2],
        "branch_size": 8,
        "hidden_sizes": [8],
    }
    learner = {**SMALL, "model": {**model, "normalise_observations": True}}
    policy = {name: {**(learner if entry["algorithm"] != "random" else {}), **entry} for name, entry in entries.items()}
    sizes = {"num_envs": 5, "num_steps": 4, "total_env_steps": 400}
    made = {"name": "tests.trainers.algorithms.steered:Steered", "env": env, "trainer": sizes, "policy": policy}
    return Trainer(config_from_dict(made))


@KINDS
@pytest.mark.long
def test_one_policy_plays_several_groups(entry: Mapping[str, Any]) -> None:
    trainer = steered({"all": {**entry, "groups": ["car", "ship"]}})
    metrics = trainer.train(None)
    algorithm = trainer.algorithms["all"]
    assert algorithm.replay.policy_agents.size == 3
    assert algorithm.num_updates == 20
    assert all(torch.tensor(value).isfinite() for value in metrics.values())
    actions = trainer.world["actions"].flatten(0, 1).cpu()
    assert (actions >= torch.tensor([-1.0, 0.0])).all() and (actions <= torch.tensor([3.0, 2.0])).all()


@TWO
def test_a_random_policy_stands_beside(entry: Mapping[str, Any]) -> None:
    trainer = steered({"car": entry, "ship": {"algorithm": "random"}})
    trainer.train(None)
    assert trainer.algorithms["car"].num_updates > 10
    assert "replay_ring_rewards_ship" not in trainer.world


@TWO
def test_pictures_are_stacked(entry: Mapping[str, Any]) -> None:
    """In the ring one by one; what is acted on is what is learnt from."""
    model = {"hidden_sizes": [8], "type": "mlp"}
    learner = {**entry, "groups": ["car", "ship"], "frame_stack": 3, "model": model}
    trainer = steered({"all": learner}, pictures=True)
    trainer.train(None)
    algorithm, policy = trainer.algorithms["all"], trainer.policies["all"]
    assert algorithm.num_updates == 20 and isinstance(policy, StackingPolicy)
    assert trainer.world["replay_ring_observations_car"].shape[-1] == 16
    stacks = algorithm.replay.draw().observations
    assert stacks.shape == (32, 48)
    state = torch.zeros(32, policy.state_size, device=stacks.device)
    for frame in stacks.split(16, 1):
        outputs, _, state = policy.step(frame.contiguous(), state)
    torch.testing.assert_close(outputs, algorithm.model.actor_layers(policy.features(stacks)))


@TWO
def test_a_script_plays_beside(entry: Mapping[str, Any]) -> None:
    trainer = steered({"car": entry, "ship": {"algorithm": "random"}})
    script = Scripted("home", trainer.world.environment.scripts()["home"])
    policy = trainer.policies["car"]
    returns = play_groups(trainer.config, {"car": policy, "ship": script}, episodes=20, seed=1, greedy=True)
    at_random = play_groups(trainer.config, {"car": policy, "ship": None}, episodes=20, seed=1, greedy=True)
    assert torch.equal(returns["car"], at_random["car"])
    assert returns["ship"].mean() > at_random["ship"].mean()
    swapped = play_groups(trainer.config, {"car": script, "ship": policy}, episodes=20, seed=1)
    assert swapped["car"].mean() > returns["car"].mean()


def test_a_normaliser_takes_in_what_was_just_seen() -> None:
    """Of agents that took part: an agent that rests sees 1e9."""
    trainer = steered({"car": SAC, "ship": {"algorithm": "random"}}, rests=True)
    seen: list[Tensor] = []
    policy = trainer.policies["car"]
    assert policy is not None and policy.normaliser is not None
    for _ in range(6):
        trainer.collector.collect()
        ring = trainer.algorithms["car"].replay
        rows = ring.ring.recorded()
        seen.append(policy.floats(rows).double())
        assert len(rows) < 4 * 5 * 2
        trainer._learn()
        everything = torch.cat(seen)
        torch.testing.assert_close(policy.normaliser.mean, everything.mean(0), rtol=1e-6, atol=1e-9)
        torch.testing.assert_close(policy.normaliser.variance, everything.var(0, correction=0), rtol=1e-6, atol=1e-9)
    assert policy.normaliser.mean.abs().max() < 3


# ---- saving ----------------------------------------------------------------------------------------------------------
@pytest.mark.long
@KINDS
def test_a_resumed_run_is_the_uninterrupted_one(entry: Mapping[str, Any], tmp_path: Path) -> None:
    made = config({**entry, "priority_alpha": 0.5, "replay_size": 160}, iterations=20)
    whole = Trainer(made)
    last = whole.train(None)
    first = Trainer(made)
    run = first.create_run(tmp_path)
    assert run is not None
    first.train(run, stop=lambda: first.iteration == 14)  # the ring has been written over by then
    run.close()
    second = Trainer(made, initial_weights=False)
    second.resume(Run.open(run.path))
    metrics = second.train(None)
    torch.testing.assert_close(
        second.policies["agent"].state_dict(), whole.policies["agent"].state_dict(), rtol=0, atol=0
    )
    own, expected = (trainer.algorithms["agent"].state_dict() for trainer in (second, whole))
    torch.testing.assert_close(own["targets"], expected["targets"], rtol=0, atol=0)
    losses = {name for name in metrics if name.startswith("losses/")}
    assert {name: metrics[name] for name in losses} == {name: last[name] for name in losses}


@KINDS
def test_a_checkpoint_of_another_kind_is_refused(entry: Mapping[str, Any]) -> None:
    _, algorithm = trained(entry)
    saved = copy.deepcopy(algorithm.state_dict())
    algorithm.check_state(saved)
    broken = {**saved, "targets": {**saved["targets"], "critics": torch.zeros(3)}}
    with pytest.raises(RunError, match=r"the saved target network is \(3,\), expected a vector"):
        algorithm.check_state(broken)
    own = "log_temperature" if entry is SAC else "actor_loss"
    with pytest.raises(RunError, match=rf"the saved learner's {own} has shape \(2,\), expected \("):
        algorithm.check_state({**saved, own: torch.zeros(2)})
    missing = {key: value for key, value in saved.items() if key != own}
    with pytest.raises(RunError, match=f"the saved learner's {own} is None, expected another kind"):
        algorithm.check_state(missing)


# ---- what comes of it ------------------------------------------------------------------------------------------------
@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("pendulum_ddpg", -180, marks=seldom),
        pytest.param("pendulum_td3", -170, marks=seldom),
        ("pendulum_sac", -160),
    ],
)
def test_packaged_configs_keep_the_pendulum_upright(name: str, expected: float) -> None:
    made = load_config(name)
    trainer = Trainer(made)
    trainer.train(None)
    returns = play(made, trainer.policies, episodes=1000, seed=1, greedy=True).returns["agent"]
    assert returns.mean() >= expected
