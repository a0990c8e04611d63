"""A step of networks, draws and the world in one call: bit for bit what the actors and the world do one by one."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.cases import often
from tests.trainers.league.run_configs import RUN_CONFIGS as LEAGUES
from tests.trainers.test_resumed_runs import DQN, ONE, RUN_CONFIGS, TRAINER
from warpworld.config import config_from_dict
from warpworld.errors import KernelError
from warpworld.managers.cpu.native_runtime import NativeRepeats, runtime
from warpworld.managers.cpu.program import CpuProgram
from warpworld.policies import Policy
from warpworld.trainers.collecting.players import Seen, decide
from warpworld.trainers.measurements import Metrics
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

SIZES = {"num_envs": 53, "total_env_steps": 53 * 8 * 3}


def against(opponent: str, **learner: Any) -> dict[str, Any]:
    """A policy for both sides of a game, against this opponent and its own past; ``learner`` has its own settings."""
    sides: dict[str, Any] = LEAGUES["one policy for both sides"]
    fighter = sides["policy"]["fighter"]
    own = {"groups": fighter["groups"], **learner} if learner else fighter
    return {**sides, "policy": {"fighter": {**own, "self_play": {**fighter["self_play"], "opponents": [opponent]}}}}


def remembering(cell: str, **policy: Any) -> dict[str, Any]:
    """A policy with a memory for two groups, some of whose agents leave or are cut while their env continues."""
    both = {
        **ONE,
        "num_minibatches": 3,
        "groups": ["left", "right"],
        "model": {"recurrent": cell, "recurrent_size": 5},
        **policy,
    }
    env = {"dying": 0.1, "cutting": 0.1, "counted": 0.7}
    return {"name": "tests.trainers.recall:Lives", "env": env, "policy": {"both": both}}


def for_many_envs(name: str) -> dict[str, Any]:
    """A run whose replays have room for the rows of as many envs as there are here."""
    run = RUN_CONFIGS[name]
    own = {
        key: {**entry, "replay_size": 4000} if "replay_size" in entry else entry for key, entry in run["policy"].items()
    }
    return {**run, "policy": own}


def with_whole_rollouts(name: str) -> dict[str, Any]:
    """A run whose updates take one minibatch, of whatever number of sequences."""
    run = RUN_CONFIGS[name]
    return {**run, "policy": {key: {**entry, "num_minibatches": 1} for key, entry in run["policy"].items()}}


SELF_PLAY = {"share": 0.5, "slots": 3, "pool_size": 3, "snapshot_every": 2, "match_every": 2, "groups": ["right"]}
PICTURES = {"type": "multi_input", "channels": [64], "kernel_sizes": [3], "strides": [1], "branch_size": 16}
TAG: dict[str, Any] = {"name": "tag_gridworld", "policy": {"tagger": ONE, "runner": ONE}}
IN_ONE: dict[str, dict[str, Any]] = {
    "choices": RUN_CONFIGS["cartpole"],
    "a Box": {"name": "pendulum", "policy": {"agent": ONE}},
    "a Box at random": {"name": "pendulum", "policy": {"agent": {"algorithm": "random"}}},
    "two groups": TAG,
    "more agents than a tile of rows": {**TAG, "env": {"num_taggers": 100}},
    "five agents, one at random": {
        **TAG,
        "env": {"num_taggers": 5},
        "policy": {"tagger": ONE, "runner": {"algorithm": "random"}},
    },
    "agents that leave": RUN_CONFIGS["agents that leave"],
    "python phases": RUN_CONFIGS["python phases"],
    "arrays of each group's own": RUN_CONFIGS["arrays of each group's own"],
    "masks, and two groups of one policy": {
        "name": "skirmish",
        "policy": {"agent": {**ONE, "groups": ["ally", "enemy"]}},
    },
    "opponents from the past, and at random": against("random"),
    "a plane with opponents": LEAGUES["a plane with masks"],
    "flags": {"name": "minatar_breakout", "policy": {"agent": {**ONE, "model": {"hidden_sizes": [16]}}}},
    "pictures of bytes": {"name": "overcooked", "policy": {"cook": {**ONE, "model": PICTURES}}},
    "parts of a Dict": {
        "name": "tests.trainers.sighted:Sighted",
        "policy": {
            "left": {**ONE, "model": {"type": "multi_input", "kernel_sizes": [3, 3]}},
            "right": {**ONE, "model": {"type": "multi_input", "kernel_sizes": [4, 2], "strides": [2, 1]}},
        },
    },
    "frozen policies": {"name": "cartpole", "policy": {"agent": {"train": False}}},
    "agents in turns": for_many_envs("groups whose agents take turns"),
    "an lstm": remembering("lstm"),
    **{f"a {cell} and agents that are cut": remembering(cell) for cell in ("gru", "mingru")},
    "a memory, with opponents from the past": remembering("gru", self_play=SELF_PLAY),
    "critics with inputs of their own": with_whole_rollouts("mappo with popart and a memory"),
    "ppo beside dqn": for_many_envs("ppo beside dqn"),
    "dqn whose actors set priorities": for_many_envs("dqn on final observations"),
    "dqn of two groups": for_many_envs("dqn of two groups, some of whom take no part"),
    "dqn with opponents from the past": against("random", **{**DQN, "replay_size": 3000}),
    "r2d2": for_many_envs("r2d2"),
    "teams, with masks and a state": for_many_envs("vdn beside qmix"),
    "teams with a memory": for_many_envs("vdn beside qmix, with memories"),
}
ONE_BY_ONE: dict[str, dict[str, Any]] = {
    "normalised observations": RUN_CONFIGS["normalised observations"],
    "memories of two layers": RUN_CONFIGS["lstm of two layers"],
    "values in units of their own": remembering("gru", normalise_returns="popart"),
    "choices among bytes": RUN_CONFIGS["bytes, choices and floats"],
    "a script": against("rock"),
    "actions drawn by squashed Gaussians": RUN_CONFIGS["sac"],
}


def made(run: dict[str, Any], in_one_call: bool = True, **trainer: Any) -> Trainer:
    made = Trainer(config_from_dict({**run, "trainer": {**TRAINER, "seed": 5, **run.get("trainer", {}), **trainer}}))
    made.collector.in_one_call = in_one_call
    return made


def trained(trainer: Trainer) -> tuple[Tensor, list[Tensor], list[Metrics]]:
    """The store, the weights, and each iteration's metrics but times."""
    noted = list[Metrics]()
    trainer.train(None, on_iteration=noted.append)
    for metrics in noted:
        for name in [name for name in metrics if name.startswith("perf/") or name in ("time", "steps_per_second")]:
            del metrics[name]
    policies = [policy for policy in trainer.policies.values() if policy is not None]
    return trainer.world.snapshot(), [weight for policy in policies for weight in policy.parameters()], noted


def refused() -> None:
    raise AssertionError("the world stepped by itself")


@pytest.mark.long
@pytest.mark.parametrize("workers", often([3], [3, 1]))
@pytest.mark.parametrize("trajectory", IN_ONE)
def test_a_run_is_the_same_bit_for_bit(trajectory: str, workers: int) -> None:
    sizes = {**SIZES, "num_workers": workers}
    expected = trained(made(IN_ONE[trajectory], in_one_call=False, **sizes))
    trainer = made(IN_ONE[trajectory], **sizes)
    trainer.world.step = refused  # type: ignore[method-assign]
    found = trained(trainer)
    assert torch.equal(found[0], expected[0])
    assert all(torch.equal(one, other) for one, other in zip(found[1], expected[1], strict=True))
    assert repr(found[2]) == repr(expected[2])


@pytest.mark.parametrize("trajectory", IN_ONE)
def test_what_is_recorded_is_the_same(trajectory: str) -> None:
    """The rows of the rollout too, which a snapshot leaves out."""
    one, other = made(IN_ONE[trajectory], **SIZES), made(IN_ONE[trajectory], in_one_call=False, **SIZES)
    one.world.step = refused  # type: ignore[method-assign]
    for _ in range(3):
        one.collector.collect()
        other.collector.collect()
        same = one.world.data.checksums() == other.world.data.checksums()
        names = one.world.data.names("state", "derived")
        assert not [name for name, is_same in zip(names, same.tolist(), strict=True) if not is_same]


@pytest.mark.parametrize("trajectory", ONE_BY_ONE)
def test_what_torch_has_a_part_in_is_done_one_by_one(trajectory: str) -> None:
    trainer = made(ONE_BY_ONE[trajectory])
    trainer.world.step = refused  # type: ignore[method-assign]
    with pytest.raises(AssertionError, match="the world stepped by itself"):
        trainer.train(None)


def test_players_are_exchanged_between_rollouts() -> None:
    one, other = made(TAG), made(TAG, in_one_call=False)
    for trainer in (one, other):
        trainer.collector.collect()
        actor = trainer.collector.actors["tagger"]
        first = actor.policy
        assert isinstance(first, Policy)
        torch.manual_seed(1)
        for weight in first.parameters():
            weight.data.normal_()
        trainer.collector.collect()
        actor.policy = None
        trainer.collector.collect()
        actor.policy = first
        trainer.collector.collect()
    assert torch.equal(one.world.snapshot(), other.world.snapshot())


def test_a_fault_names_env_and_agent() -> None:
    trainer = made({"name": "tests.trainers.collecting.falling:Falling", "policy": {"agent": ONE}}, num_workers=2)
    trainer.world.step = refused  # type: ignore[method-assign]
    with pytest.raises(KernelError, match=r"falling\.cu:\d+: kernel 'step', env 4, agent 0: .*clock is not 3"):
        trainer.collector.collect()


def test_networks_may_change_between_rollouts() -> None:
    one, other = made(RUN_CONFIGS["cartpole"]), made(RUN_CONFIGS["cartpole"], in_one_call=False)
    for trainer in (one, other):
        policy, twin = (made(RUN_CONFIGS["cartpole"], seed=seed).policies["agent"] for seed in (5, 6))
        assert policy is not None and twin is not None
        trainer.collector.actors["agent"].policy = policy
        trainer.collector.collect()
        policy.model = twin.model
        trainer.collector.collect()
        policy.model.fused = None  # type: ignore[assignment]
        trainer.collector.collect()
    assert torch.equal(one.world.snapshot(), other.world.snapshot())
    one.world.step = refused  # type: ignore[method-assign]
    with pytest.raises(AssertionError, match="the world stepped by itself"):
        one.collector.collect()


class Shifted(Policy):
    """A kind of policy that sees other features."""

    def features(self, observations: Tensor) -> Tensor:
        return super().features(observations) + 1.0


class Turned(Policy):
    """A kind of policy that decides in a way of its own."""


@decide.register
def _(player: Turned, seen: Seen, outputs: Tensor) -> None:
    outputs.copy_(-player.outputs(seen.observations))


@pytest.mark.parametrize("kind", [Shifted, Turned])
@pytest.mark.long
def test_kinds_of_policies_that_do_more_act_by_themselves(kind: type[Policy]) -> None:
    one, other = made(RUN_CONFIGS["cartpole"]), made(RUN_CONFIGS["cartpole"], in_one_call=False)
    for trainer in (one, other):
        policy = trainer.policies["agent"]
        assert policy is not None
        policy.__class__ = kind
        torch.manual_seed(1)
        for weight in policy.parameters():
            weight.data.normal_()  # so that outputs are far from 0
        trainer.collector.collect()
    assert torch.equal(one.world.snapshot(), other.world.snapshot())


@pytest.mark.long
def test_large_networks_are_no_endless_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A share of envs takes longer than a kernel may go without progress, but no strip of its rows does."""
    large = {"algorithm": "ppo", "model": {"hidden_sizes": [1024, 1024]}}
    run = {"name": "tag_gridworld", "env": {"num_taggers": 200}, "policy": {"tagger": large, "runner": ONE}}
    sizes = {"num_envs": 64, "num_steps": 1, "total_env_steps": 64, "num_workers": 1}
    trainer = made(run, **sizes)
    trainer.collector.collect()
    began = time.monotonic()
    trainer.collector.collect()
    monkeypatch.setenv("WARPWORLD_KERNEL_TIMEOUT", str((time.monotonic() - began) / 2))  # whatever this machine does
    trainer = made(run, **sizes)
    trainer.world.step = refused  # type: ignore[method-assign]
    trainer.collector.collect()
    assert min(trainer.world["clock"].tolist()) == 2  # a reset and a step


def programs_of(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the runtime knows of the programs that a first rollout makes."""
    made_of = list[CpuProgram]()
    build = CpuProgram.__init__

    def noted(self: CpuProgram, *given: Any) -> None:
        build(self, *given)
        made_of.append(self)

    with monkeypatch.context() as patch:
        patch.setattr(CpuProgram, "__init__", noted)
        trainer.collector.collect()
    return [program._program for program in made_of]


def test_a_program_has_no_more_workers_than_its_functions_have_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = made(TAG, num_workers=100)
    tagger = trainer.policies["tagger"]
    assert tagger is not None
    monkeypatch.setattr(tagger.model.fused, "most_workers", 2)
    assert [program.max_workers for program in programs_of(trainer, monkeypatch)] == [2]


def test_many_envs_are_shared_by_whole_blocks_of_rows_and_few_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for num_envs, granularity in ((12, 1), (6000, 12)):
        trainer = made(TAG, num_envs=num_envs, num_steps=1, total_env_steps=num_envs)
        for policy in trainer.policies.values():
            assert policy is not None
            monkeypatch.setattr(policy.model.fused, "most_workers", 8)
        assert [program.granularity for program in programs_of(trainer, monkeypatch)] == [granularity]


def test_a_rollout_is_one_native_call_that_ctrl_c_may_cut_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call takes as many steps as are left, and C++ may return before it has taken them."""
    trainer = made(RUN_CONFIGS["cartpole"])
    other = made(RUN_CONFIGS["cartpole"], in_one_call=False)
    repeat, calls = runtime().ww_repeat_program, list[int]()

    def one_step(address: int) -> int:
        repeats = NativeRepeats.from_address(address)
        wanted, repeats.times = repeats.times, repeats.done + 1
        code: int = repeat(address)
        repeats.times = wanted
        calls.append(repeats.done)
        return code

    monkeypatch.setattr(runtime(), "ww_repeat_program", one_step)
    for each in (trainer, other):
        each.collector.collect()
    assert calls == list(range(1, TRAINER["num_steps"] + 1))
    assert torch.equal(trainer.world.snapshot(), other.world.snapshot())
