"""Members of a population learn side by side in one run, and the worst copy the best."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from warpworld.config import RunConfig, config_from_dict
from warpworld.errors import ConfigError, RunError
from warpworld.runs import Run
from warpworld.trainers.building import build_algorithms, build_learners, build_world
from warpworld.trainers.collecting import Trajectories
from warpworld.trainers.loaded_policies import load_policies
from warpworld.trainers.population import Population
from warpworld.trainers.processes import ProcessGroup
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend  # elsewhere they are refused, see test_refused_on_cuda.py

TRAINER = {"device": "cpu", "num_envs": 6, "num_steps": 16, "seed": 4}
SETTINGS = {"learning_rate": [1e-3, 1e-1], "ent_coef": [0, 0.1]}
SECTION = {"members": 3, "interval": 2, "exploit": 0.34, "settings": SETTINGS}
ENTRY = {"num_minibatches": 2, "update_epochs": 2, "anneal_lr": False, "population": SECTION}
LIVES = {"name": "tests.trainers.recall:Lives", "env": {"dying": 0.1, "counted": 0.7}}


def made(iterations: int = 8, agent: dict[str, Any] | None = None, **sections: Any) -> RunConfig:
    """A run of cartpole with a population; ``agent`` changes its section, others take the place of whole sections."""
    trainer = {**TRAINER, "total_env_steps": 6 * 16 * iterations}
    given = {"name": "cartpole", "trainer": trainer, "policy": {"agent": {**ENTRY, **(agent or {})}}}
    return config_from_dict({**given, **sections})


def population(trainer: Trainer) -> Population:
    assert trainer.population is not None
    return trainer.population


def weights(module: torch.nn.Module) -> Tensor:
    return torch.cat([each.detach().flatten() for each in module.parameters()]).clone()


# ---- learning --------------------------------------------------------------------------------------------------------
def test_members_begin_with_weights_and_settings_of_their_own() -> None:
    trainer = Trainer(made())
    members = population(trainer).members
    own = trainer.policies["agent"]
    assert own is not None
    assert torch.equal(weights(members[0].policy), weights(own))
    assert not torch.equal(weights(members[1].policy), weights(members[2].policy))
    assert len({member.values["learning_rate"] for member in members}) == 3
    for member in members:
        now = member.algorithm.settings.at(0)
        assert {name: getattr(now, name) for name in SETTINGS} == member.values


def test_a_member_learns_from_its_own_envs() -> None:
    trainer = Trainer(made())
    trainer._iterate()
    for member, envs in zip(population(trainer).members, (range(2), range(2, 4), range(4, 6)), strict=True):
        algorithm: Any = member.algorithm
        (seen,) = algorithm.seen()
        (whole,) = [algorithm._rollout.trajectories("agent")]
        assert seen.rewards.shape == (16, 2, 1)
        assert torch.equal(seen.observations, whole.observations[:, envs.start : envs.stop])
        assert torch.equal(seen.next_observations, whole.next_observations[envs.start : envs.stop])
        assert torch.equal(seen.terminated, trainer.world["rollout_terminated"][:, envs.start : envs.stop])
        assert algorithm.parameters.learning_rate == member.values["learning_rate"]


def test_trajectories_of_some_envs_have_their_final_observations() -> None:
    """Naively: each final observation is where its env and row say, in the whole and in the part."""
    trainer = Trainer(made(env={"episode_length": 7}))
    trainer._iterate()
    algorithm: Any = population(trainer).members[1].algorithm
    whole: Trajectories = algorithm._rollout.trajectories("agent")
    part = whole.of_envs(range(2, 4))
    assert part.finals.observations.any()
    assert torch.equal(
        part.finals.placed(part.finals.observations, 16, 2),
        whole.finals.placed(whole.finals.observations, 16, 6)[:, 2:4],
    )
    for field in dataclasses.fields(whole):
        assert (getattr(whole, field.name) is None) == (getattr(part, field.name) is None)


def test_a_member_acts_in_its_own_envs() -> None:
    """Recorded log-probabilities are those of the member's policy, and of no other's."""
    trainer = Trainer(made())
    members = population(trainer).members
    trainer.collector.collect()
    distribution: Any = members[0].policy.distribution
    for number, member in enumerate(members):
        algorithm: Any = member.algorithm
        (seen,) = algorithm.seen()
        for other in members:
            outputs = other.policy.outputs(seen.observations.flatten(0, 2))
            log_probs, _ = distribution.log_prob_and_entropy(outputs, seen.actions.flatten(0, 2), None)
            is_own = torch.allclose(log_probs, seen.log_probs.flatten(), atol=1e-5)
            assert is_own == (other is members[number])


# ---- rankings --------------------------------------------------------------------------------------------------------
def test_a_ranking_goes_by_the_mean_return_of_episodes_since_the_last_one() -> None:
    """Beside a naive walk through the rollouts of two intervals."""
    trainer = Trainer(made())
    running, ended = np.zeros(6), [list[float]() for _ in range(3)]
    for iteration in range(1, 5):
        trainer.collector.collect()
        world = trainer.world
        rewards, over = world["rollout_rewards"][:, :, 0].numpy(), world["rollout_terminated"].numpy()
        over = over | world["rollout_truncated"].numpy()
        for t in range(16):
            running += rewards[t]
            for env in np.flatnonzero(over[t]):
                ended[env // 2].append(running[env])
                running[env] = 0
        trainer._take()
        trainer.updates.finish(False)
        if iteration % 2 == 0:
            returns = population(trainer)._returns
            np.testing.assert_allclose(returns, [np.mean(each) for each in ended], rtol=1e-12)
            assert population(trainer).best == int(np.argmax(returns))
            ended = [[] for _ in range(3)]


def test_the_worst_takes_weights_optimiser_and_settings_of_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(made())
    own = population(trainer)
    monkeypatch.setattr(own, "_returns_now", lambda: [5.0, 1.0, 9.0])
    trainer._iterate()
    trainer._iterate()
    assert own.best == 2
    copied, best, middle = own.members[1], own.members[2], own.members[0]
    assert torch.equal(weights(copied.policy), weights(best.policy))
    assert not torch.equal(weights(middle.policy), weights(best.policy))
    of_copied, of_best = (each.algorithm.state_dict()["optimizer"]["state"][0] for each in (copied, best))
    assert torch.equal(of_copied["exp_avg_sq"], of_best["exp_avg_sq"])
    assert of_copied["exp_avg_sq"].data_ptr() != of_best["exp_avg_sq"].data_ptr()
    assert copied.values == own._exploration.changed(best.values, 1, 1) != best.values
    assert [(each.parent, each.origin, each.copies) for each in own.members] == [(0, 0, 0), (2, 2, 1), (2, 2, 0)]
    trainer._iterate()
    rate = copied.algorithm.charts()["learning_rate"]
    assert rate == copied.values["learning_rate"]
    assert not torch.equal(weights(copied.policy), weights(best.policy))


def test_a_member_whose_weights_are_lost_copies_another() -> None:
    trainer = Trainer(made())
    lost = population(trainer).members[1]
    trainer._iterate()
    with torch.no_grad():
        next(lost.policy.parameters()).fill_(torch.nan)
    trainer.train(None)
    assert not lost.is_lost
    assert lost.copies > 0
    assert all(np.isfinite(value) for name, value in trainer.measured().items() if name.startswith("losses/"))


def test_the_policy_itself_is_the_best_member(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(made())
    own, policy = population(trainer), trainer.policies["agent"]
    assert policy is not None
    monkeypatch.setattr(own, "_returns_now", lambda: [5.0, 1.0, 9.0])
    for best in (0, 2, 2):
        trainer._iterate()
        assert torch.equal(weights(policy), weights(own.members[best].policy))


def test_agents_of_a_member_that_copied_another_remember_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(made(agent=REMEMBERING, env={"episode_length": 500}))
    monkeypatch.setattr(population(trainer), "_returns_now", lambda: [5.0, 1.0, 9.0])
    trainer._iterate()
    states = [trainer.world[name] for name in ("recurrent_state_agent", "critic_state_agent")]
    assert all(bool(state[2:4].any()) for state in states)
    trainer._iterate()
    for state in states:
        assert not state[2:4].any()
        assert state[:2].any()
        assert state[4:].any()


def test_metrics_say_who_descends_from_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(made())
    own = population(trainer)
    monkeypatch.setattr(own, "_returns_now", lambda: [5.0, 1.0, 9.0])
    seen = list[dict[str, Any]]()
    trainer.train(None, seen.append)
    assert np.isnan(seen[0]["population/agent/1/return"])
    found = {name.removeprefix("population/agent/"): value for name, value in seen[1].items()}
    assert (found["best"], found["origins"]) == (2, 2)
    assert [found[f"1/{name}"] for name in ("return", "parent", "origin", "copies")] == [1.0, 2, 2, 1]
    assert found["1/learning_rate"] == own._exploration.changed(own.members[2].values, 1, 1)["learning_rate"]


def test_metrics_of_the_policy_are_over_all_members() -> None:
    trainer = Trainer(made(1, agent={"population": {**SECTION, "interval": 1}}, env={"episode_length": 7}))
    metrics = trainer.train(None)
    world = trainer.world
    over = world["rollout_terminated"] | world["rollout_truncated"]
    assert metrics["charts/episodes"] == int(over.sum()) >= 12
    total = float(world["rollout_rewards"].sum() - world["episode_return"].sum())
    assert metrics["charts/agent/episodic_return"] == pytest.approx(total / int(over.sum()))
    assert metrics["charts/agent/learning_rate"] == population(trainer).charts()["learning_rate"]


# ---- runs ------------------------------------------------------------------------------------------------------------
REMEMBERING = {"algorithm": "mappo", "recurrent_critic": True, "model": {"recurrent": "gru", "recurrent_size": 5}}
RUNS: dict[str, dict[str, Any]] = {
    "ppo": {"policy": {"agent": {**ENTRY, "model": {"normalise_observations": True}}}},
    "a2c with popart": {
        "policy": {"agent": {"algorithm": "a2c", "population": SECTION, "normalise_returns": "popart"}},
    },
    "rates by kl": {
        "policy": {
            "agent": {**ENTRY, "desired_kl": 0.01, "population": {**SECTION, "settings": {"ent_coef": [0.001, 0.1]}}}
        },
    },
    "a memory beside another policy": {
        **LIVES,
        "policy": {
            "left": {**ENTRY, "model": {"recurrent": "lstm", "recurrent_size": 5}},
            "right": {"algorithm": "dqn", "replay_size": 200, "learning_starts": 30, "batch_size": 16},
        },
    },
    "mappo whose critic remembers": {"policy": {"agent": {**ENTRY, **REMEMBERING}}},
}


def trained(config: RunConfig, directory: Path, interrupted: bool) -> tuple[Trainer, Run]:
    run, trainer = Run.create(config, directory), Trainer(config)
    if interrupted:
        trainer.train(run, stop=lambda: trainer.iteration == 5)
        run.close()
        torch.manual_seed(12345)
        run, trainer = Run.open(run.path), Trainer(config)
        trainer.resume(run)
    trainer.train(run)
    run.close()
    return trainer, run


@pytest.mark.heavy
@pytest.mark.parametrize("name", RUNS)
def test_resumed_halfway(tmp_path: Path, name: str) -> None:
    """Between two rankings, behind one in which a member copied another."""
    config = made(**RUNS[name], saving={"checkpoint_every": 100})
    (whole, whole_run), (halves, halves_run) = (trained(config, tmp_path, cut) for cut in (False, True))
    assert any(member.copies for member in population(whole).members)
    assert whole_run.metrics_path.read_bytes() == halves_run.metrics_path.read_bytes()
    assert torch.equal(whole.world.snapshot(), halves.world.snapshot())
    for member, other in zip(population(whole).members, population(halves).members, strict=True):
        assert torch.equal(weights(member.policy), weights(other.policy))
        assert member.values == other.values


@pytest.mark.long
def test_a_checkpoint_holds_the_best_member(tmp_path: Path) -> None:
    trainer, run = trained(made(), tmp_path, False)
    loaded = load_policies(run)["agent"]
    own = population(trainer)
    assert loaded is not None
    assert torch.equal(weights(loaded), weights(own.members[own.best].policy))


def test_members_begin_with_initial_weights(tmp_path: Path) -> None:
    _, run = trained(made(2), tmp_path, False)
    trainer = Trainer(made(agent={"initial_weights": str(run.path)}))
    loaded = load_policies(run)["agent"]
    assert loaded is not None
    for member in population(trainer).members:
        assert torch.equal(weights(member.policy), weights(loaded))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda saved: saved.pop("members"), "policy 'agent': the saved learner has no list of members, expected 3"),
        (lambda saved: saved["members"].pop(), "the saved learner has 2 members, expected 3 members"),
        (lambda saved: saved.update(best=3), "the saved population has {'best': 3"),
        (lambda saved: saved["members"][1].pop("origin"), "the saved member 1 lacks one of weights, learner"),
        (lambda saved: saved["members"][1]["values"].pop("ent_coef"), "the saved member 1 has settings learning_rate"),
        (lambda saved: saved["members"][2]["weights"].popitem(), "policy 'member 2': "),
        (lambda saved: saved["members"][2]["learner"].clear(), "the saved learner holds nothing, expected optimizer"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(change: Any, message: str) -> None:
    trainer = Trainer(made())
    state = trainer.state_dict()
    change(state["learners"]["agent"])
    with pytest.raises(RunError) as caught:
        trainer.load_state_dict(state)
    assert message in str(caught.value)


def test_several_processes_are_refused() -> None:
    config, generator = made(), torch.Generator()
    world = build_world(config)
    policies = build_learners(config, world, generator, False)
    with pytest.raises(ConfigError) as caught:
        build_algorithms(config, policies, ProcessGroup(0, 3, 0, 1), world, generator)
    expected = "policy.agent.population is set, but 3 processes train the run, expected one: start a single process"
    assert str(caught.value) == expected


def test_returns_of_running_episodes_are_dropped_with_them() -> None:
    """A run is resumed whose envs are not in the store."""
    trainer = Trainer(made(1, agent={"population": {**SECTION, "interval": 1}}))
    trainer.train(None)
    names = ("episode_return", "episode_steps", "population_episode_return", "population_episode_steps")
    assert all(trainer.world[name].any() for name in names)
    trainer.checkpoints._begin_anew()
    assert not any(trainer.world[name].any() for name in names)
