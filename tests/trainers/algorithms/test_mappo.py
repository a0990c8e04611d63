"""MAPPO: what its critic reads in a run, what it learns of it, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainers.collecting.test_critic_inputs import Blind
from tests.trainers.small_networks import small_networks
from tests.trainers.together import together
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.errors import ConfigError
from warpworld.policies import Policy
from warpworld.trainers.algorithms.experience.trajectory_rows import ends_of, step_values
from warpworld.trainers.algorithms.mappo import MAPPO
from warpworld.trainers.algorithms.targets.targets import TARGETS
from warpworld.trainers.building import build_algorithms
from warpworld.trainers.collecting import Trajectories
from warpworld.trainers.processes.distributed import ProcessGroup
from warpworld.trainers.trainer import Trainer

STATED = "tests.trainers.replay.stated:Stated"
CHANGING = {"dying": 0.1, "resting": 0.2, "truncating": 0.1, "forbidding": 0.3}
SIZES = {"device": "cpu", "num_envs": 6, "num_steps": 8, "total_env_steps": 96}
TEAM = {"algorithm": "mappo", "model": {"hidden_sizes": [8]}, "num_minibatches": 2, "learning_rate": 0.01}
REST = {"algorithm": "random"}


def config(name: str = STATED, env: Any = None, team: str = "left", **settings: Any) -> RunConfig:
    env = CHANGING if env is None else env
    others = ("middle", "right") if name == STATED else ("first",)
    policy = {team: {**TEAM, **settings}, **{other: REST for other in others}}
    return config_from_dict(small_networks({"name": name, "env": env, "trainer": SIZES, "policy": policy}))


def mappo(trainer: Trainer, team: str = "left") -> MAPPO:
    found = trainer.algorithms[team]
    assert isinstance(found, MAPPO)
    return found


def check_at_once(seen: Trajectories, policy: Policy, ends: dict[str, Any]) -> None:
    """One forward for all that follows gives what forwards for each give; the rest of its memory stays as it is."""
    place = torch.full((9, 6, 2), torch.nan, device=seen.rewards.device)
    found = ends_of(seen, policy, place)
    torch.testing.assert_close(found["next_value"], ends["next_value"])
    was_cut = seen.truncated[..., None].expand(8, 6, 2)
    assert found["truncated_values"].data_ptr() == place.data_ptr()
    torch.testing.assert_close(
        found["truncated_values"], torch.where(was_cut, ends["truncated_values"], torch.nan), equal_nan=True
    )


@pytest.mark.parametrize("per", ["env", "agent"])
def test_the_critic_reads_the_declared_state_at_each_step_at_the_end_and_after_it(per: str) -> None:
    name = f"{Blind.__module__}:Blind"
    trainer = Trainer(config(name, {"per": per}, "team", agent_ids=False))
    learner = mappo(trainer, "team")
    trainer.collector.collect()
    (seen,) = learner.seen()
    timesteps = torch.tensor(
        [0, 1, 2, 3, 4, 0, 1, 2.0], device=trainer.world.device
    )  # an env is reset in its fifth step
    assert seen.critic_inputs is not None and seen.next_critic_inputs is not None
    assert seen.critic_inputs.shape == (8, 6, 2, 3 if per == "env" else 6)
    first, last = (0.0, 0.0) if per == "env" else (1.0, 2.0)  # what agents 1 and 2 add to their parts
    for agent in range(2):  # each reads the same
        assert torch.equal(seen.critic_inputs[:, :, agent, 0], (timesteps[:, None] + first).expand(8, 6))
        assert torch.equal(seen.critic_inputs[:, :, agent, -3], (timesteps[:, None] + last).expand(8, 6))
        assert seen.next_critic_inputs[:, agent, 0].eq(3.0 + first).all()
    used = seen.finals.rows < 8
    assert seen.finals.critic_inputs is not None and used.sum() == 6
    assert seen.finals.critic_inputs[used, ..., 0].eq(5.0 + first).all()  # before the reset
    assert torch.equal(step_values(seen, learner.policy), valued(learner, seen.critic_inputs))
    ends = ends_of(seen, learner.policy)
    expected = valued(learner, seen.finals.critic_inputs[used])
    torch.testing.assert_close(ends["truncated_values"][4], expected)
    check_at_once(seen, learner.policy, ends)


@torch.no_grad()
def valued(learner: MAPPO, inputs: Tensor) -> Tensor:
    return learner.policy.value(inputs)


def by_hand(learner: MAPPO, observations: Tensor, takes_part: Tensor, agent: int) -> Tensor:
    """What the critic of an agent reads in one env: all observations, zeros for those that are out, and a number."""
    rows = [seen if here else torch.zeros_like(seen) for seen, here in zip(observations, takes_part, strict=True)]
    number = torch.zeros(len(observations), device=observations.device)
    number[agent] = 1.0
    return torch.cat([*rows, number])


@pytest.mark.parametrize("recurrent", [None, "gru"])
def test_the_critic_reads_all_agents_observations(recurrent: str | None) -> None:
    model = {"hidden_sizes": [8], "recurrent": recurrent, "recurrent_size": 4}
    trainer = Trainer(config(critic_reads="observations", model=model))
    learner = mappo(trainer)
    trainer.collector.collect()
    (seen,) = learner.seen()
    assert seen.critic_inputs is not None and seen.mask is not None and not seen.mask.all()
    for step, env, agent in ((0, 0, 0), (3, 2, 1), (7, 5, 1)):
        expected = by_hand(learner, seen.observations[step, env], seen.mask[step, env], agent)
        assert torch.equal(seen.critic_inputs[step, env, agent], expected)
    assert torch.equal(step_values(seen, learner.policy), valued(learner, seen.critic_inputs))


def test_the_critic_of_an_agent_that_was_cut_still_reads_what_it_observed_last() -> None:
    trainer = Trainer(config(env={**CHANGING, "cutting": 0.3, "resting": 0.6}, critic_reads="observations"))
    learner, found = mappo(trainer), 0
    trainer.collector.collect()
    (seen,) = learner.seen()
    assert seen.critic_inputs is not None and seen.mask is not None and seen.agent_truncated is not None
    cut = seen.agent_truncated & ~((seen.terminated | seen.truncated)[..., None] | seen.agent_terminated)
    for step, env, agent in cut[:-1].nonzero().tolist():
        found += int(not seen.mask[step + 1, env, agent])
        here = seen.mask[step + 1, env] | cut[step, env]
        expected = by_hand(learner, seen.observations[step + 1, env], here, agent)
        assert torch.equal(seen.critic_inputs[step + 1, env, agent], expected)
    assert found > 3


@pytest.mark.parametrize("settings", [{}, {"model": {"recurrent": "lstm", "recurrent_size": 4}}], ids=["mlp", "lstm"])
def test_the_gradient_of_the_values_is_the_critic_s_alone(settings: dict[str, Any]) -> None:
    """Actor and critic share no weights, so neither the entropy nor the policy's loss moves the critic."""
    trainer = Trainer(config(vf_coef=0.0, ent_coef=0.1, normalise_returns=None, **settings))
    model = mappo(trainer).policy.model
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    trainer.train(None)
    moved = {name for name, weight in model.named_parameters() if not torch.equal(weight, before[name])}
    of_critic = {name for name in before if name.startswith("critic_layers.")}
    assert of_critic and moved == set(before) - of_critic


@pytest.mark.heavy
def test_two_processes_learn_the_same_bits(tmp_path: Path) -> None:
    one, other = together(2, tmp_path / "two", weights_of)
    start = mappo(Trainer(config())).policy.state_dict()
    for name, weight in one.items():
        assert torch.equal(weight, other[name]), name
    assert one["value_scale.deviation"] != start["value_scale.deviation"]


def weights_of(group: ProcessGroup) -> dict[str, Tensor]:
    trainer = Trainer(config(), processes=group)
    trainer.train(None)
    return mappo(trainer).policy.state_dict()


def test_a_state_that_is_asked_for_and_not_declared_is_refused() -> None:
    data = config(STATED).to_dict()
    data["policy"]["right"] = {**TEAM, "critic_reads": "state"}
    message = (
        "^critic_reads is state, but group 'right' declares none; name an array of the environment in Group\\('right', "
        "..., critic_input=NAME\\), or set critic_reads=observations$"
    )
    with pytest.raises(ConfigError, match=message):
        Trainer(config_from_dict(data))


def test_a_team_is_one_group() -> None:
    data = config(STATED).to_dict()
    del data["policy"]["right"]
    data["policy"]["left"]["groups"] = ["left", "right"]
    message = "groups has left, right, but the critic of mappo reads what one group sees, expected one; give each "
    with pytest.raises(ConfigError, match=message):
        config_from_dict(data)


def test_popart_needs_the_critic_s_last_layer() -> None:
    name = f"{Blind.__module__}:Blind"
    reading = {"type": f"{Blind.__module__}:Reading"}
    made = config(name, {}, "team", algorithm="ppo", model=reading, normalise_returns="popart")
    message = "^normalise_returns is popart, but model '.*:Reading' has no value_layer, expected its critic's last "
    with pytest.raises(ConfigError, match=message):
        Trainer(made)


def test_settings_are_those_of_the_section() -> None:
    made = config(critic_hidden_sizes=[5, 3], critic_activation="relu", own_observation=True)
    trainer = Trainer(made)
    critic = mappo(trainer).policy.model.critic_layers  # type: ignore[union-attr]
    widths = [layer.out_features for layer in critic.modules() if isinstance(layer, torch.nn.Linear)]  # type: ignore[union-attr]
    assert widths == [5, 3, 1]
    assert sum(isinstance(layer, torch.nn.ReLU) for layer in critic.modules()) == 2  # type: ignore[union-attr]
    assert build_algorithms(made, trainer.policies).keys() == {"left"}


@pytest.mark.heavy
def test_actions_in_a_box_and_self_play() -> None:
    """A short run of each: on Pendulum the drawn torque, in Skirmish against the script and past selves."""
    trainers = [
        Trainer(load_config("pendulum", ["policy.agent.algorithm=mappo", "total_env_steps=8192", "num_envs=16"])),
        Trainer(load_config("skirmish_mappo", ["num_envs=20", "num_steps=16", "total_env_steps=640"])),
    ]
    for trainer, name in zip(trainers, ("agent", "ally"), strict=True):
        learner = mappo(trainer, name)
        before = {key: weight.clone() for key, weight in learner.policy.named_parameters()}
        trainer.train(None)
        assert all(not torch.equal(weight, before[key]) for key, weight in learner.policy.named_parameters())


REMEMBERING = {"hidden_sizes": [8], "recurrent_size": 4}


@pytest.mark.parametrize("cutting", [0.0, 0.15])
@pytest.mark.parametrize("kind", ["gru", "lstm", "mingru"])
def test_a_critic_with_a_memory_remembers_each_agent_s_episode(kind: str, cutting: float) -> None:
    """Over several rollouts by the same weights: values, final ones too, are those of stepping from the start."""
    env, model_settings = {**CHANGING, "cutting": cutting}, {**REMEMBERING, "recurrent": kind}
    trainer = Trainer(config(env=env, model=model_settings, recurrent_critic=True))
    learner = mappo(trainer)
    model: Any = learner.policy.model
    device, cut, ended_agents = trainer.world.device, 0, 0
    state = torch.zeros(6, 2, model.memory.state_size, device=device)
    was_cut = torch.zeros(6, 2, dtype=torch.bool, device=device)  # alone: what is remembered is forgotten a step later
    for _ in range(4):
        trainer.collector.collect()
        (seen,) = learner.seen()
        assert seen.critic_inputs is not None and seen.agent_terminated is not None and seen.next_state is not None
        values, ends = step_values(seen, learner.policy), ends_of(seen, learner.policy)
        for t in range(8):
            expected, state = by_stepping(model, seen.critic_inputs[t], state)
            torch.testing.assert_close(values[t], expected)
            for final in (seen.finals.rows == t).nonzero().flatten():
                env = int(seen.finals.envs[final])
                assert seen.finals.critic_inputs is not None
                expected, _ = by_stepping(model, seen.finals.critic_inputs[final : final + 1], state[env : env + 1])
                torch.testing.assert_close(ends["truncated_values"][t, env], expected[0])
                cut += 1
            over = (seen.terminated[t] | seen.truncated[t])[:, None] | seen.agent_terminated[t]
            ended_agents += int(seen.agent_terminated[t].sum())
            state = torch.where((over | was_cut)[..., None], 0.0, state)
            was_cut = ~over & seen.agent_truncated[t] if seen.agent_truncated is not None else was_cut
        assert seen.next_critic_inputs is not None
        torch.testing.assert_close(ends["next_value"], by_stepping(model, seen.next_critic_inputs, state)[0])
        check_at_once(seen, learner.policy, ends)
    assert cut > 0 and ended_agents > 0


def by_stepping(model: Any, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Values and states after one step of the cell, (envs, agents) and (envs, agents, state size)."""
    memory, lead = model.memory, inputs.shape[:-1]
    hidden = memory.encoder(inputs.flatten(0, 1))
    said, after = memory.cell.step(hidden, state.flatten(0, 1))
    return memory.layer(said).view(lead), after.view(*lead, -1)


@pytest.mark.parametrize(("kind", "layers"), [("gru", 1), ("lstm", 1), ("lstm", 2), ("mingru", 1), ("transformer", 1)])
@pytest.mark.parametrize("value_targets", ["gae", "vtrace"])
def test_what_a_remembering_critic_learns_from_is_what_it_valued(kind: str, layers: int, value_targets: str) -> None:
    """The sequences, replayed by the weights that acted, give the values of the rollout again."""
    model = {**REMEMBERING, "recurrent": kind, "recurrent_layers": layers}
    trainer = Trainer(config(model=model, recurrent_critic=True, value_targets=value_targets))
    learner = mappo(trainer)
    scale = learner.policy.value_scale
    assert scale is not None
    scale.mean.fill_(0.7)
    scale.deviation.fill_(3.0)
    for _ in range(3):
        trainer.collector.collect()
        targets = TARGETS[value_targets](learner.policy, learner.seen(), learner.settings)
        rows = targets.experience()
        outputs, values = rows.evaluated(learner.policy)
        torch.testing.assert_close(learner.policy.in_rewards(values), rows.rows.values)
        assert outputs.shape == (6 * 2 * 8, learner.policy.distribution.num_outputs)


def test_a_remembering_critic_learns_apart_from_the_actor() -> None:
    model = {**REMEMBERING, "recurrent": "gru"}
    settings = {"recurrent_critic": True, "model": model, "normalise_returns": None}
    trainer = Trainer(config(vf_coef=0.0, ent_coef=0.1, **settings))
    network = mappo(trainer).policy.model
    before = {name: weight.clone() for name, weight in network.named_parameters()}
    trainer.train(None)
    moved = {name for name, weight in network.named_parameters() if not torch.equal(weight, before[name])}
    of_critic = {name for name in before if name.startswith("memory.")}
    assert of_critic and moved == set(before) - of_critic


def test_a_critic_with_a_memory_takes_an_actor_with_one() -> None:
    message = (
        "recurrent_critic is true, but model.recurrent is null: what has a memory learns from sequences; set "
        "model.recurrent to lstm, gru, mingru or transformer, or recurrent_critic=false$"
    )
    with pytest.raises(ConfigError, match=message):
        config(recurrent_critic=True)
