"""Several processes learn what one would."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from tests.trainers.recorded import Recorded
from tests.trainers.together import alone, together, trained
from warpworld.config import RunConfig, config_from_dict
from warpworld.environment import get_environment
from warpworld.errors import ConfigError, DeviceError, KernelError, ProcessError
from warpworld.trainers.building import build_policies, build_world
from warpworld.trainers.processes.distributed import ALONE, ProcessGroup
from warpworld.trainers.trainer import Trainer
from warpworld.world import World

# its processes know nothing of --stand-in
pytestmark = [pytest.mark.cpu_backend, pytest.mark.long]

UPDATES = 3
PPO: dict[str, Any] = {"num_minibatches": 4, "update_epochs": 2, "learning_rate": 1e-2}
BY_KL = {"desired_kl": 2e-3, "anneal_lr": False}  # falls and rises, but is near no bound of the rule
A2C: dict[str, Any] = {"algorithm": "a2c", "learning_rate": 1e-2}


def configured(
    name: str, policy: Mapping[str, Any], num_envs: int = 6, num_steps: int = 8, **trainer: Any
) -> RunConfig:
    settings = {"num_envs": num_envs, "num_steps": num_steps, "total_env_steps": UPDATES * num_envs * num_steps}
    sections = {"name": name, "policy": policy, "env": trainer.pop("env", {})}
    curriculum = trainer.pop("curriculum", None)
    return config_from_dict({**sections, "curriculum": curriculum, "trainer": {**settings, **trainer}})


def scattered(policy: Mapping[str, Any], num_envs: int = 6, num_steps: int = 8, **env: Any) -> RunConfig:
    return configured("tests.trainers.scattered:Scattered", policy, num_envs, num_steps, env=env)


def shared(**settings: Any) -> dict[str, Any]:
    return {"both": {"groups": ["left", "right"], **PPO, **settings}}


NORMALISED = {"normalise_observations": True}
LSTM = {"recurrent": "lstm", "recurrent_size": 8, "hidden_sizes": [8], **NORMALISED}
GRU = {**LSTM, "recurrent": "gru"}
CASES = {
    "ppo": configured("cartpole", {"agent": PPO}),
    "ppo, torch": configured("cartpole", {"agent": PPO}, fused=False),
    "ppo, rate by kl": configured("cartpole", {"agent": {**PPO, **BY_KL}}),
    "ppo, rate by kl, torch": configured("cartpole", {"agent": {**PPO, **BY_KL, "kl_coef": 0.5}}, fused=False),
    "ppo, coefficient by kl": configured("cartpole", {"agent": {**PPO, "kl_coef": 0.5, "kl_coef_target": 2e-3}}),
    "ppo, rewards": configured("cartpole", {"agent": {**PPO, "reward_scale": 0.7, "reward_clip": 0.5}}),
    "ppo, uneven": configured("cartpole", {"agent": PPO}, num_envs=5),
    "ppo, not normalised": configured("cartpole", {"agent": {**PPO, "norm_adv": False}}, fused=False),
    "a2c": configured("cartpole", {"agent": A2C}),
    "a2c, normalised": configured("cartpole", {"agent": {**A2C, "norm_adv": True, "num_minibatches": 3}}, fused=False),
    "a2c, box": configured("tests.trainers.small_worlds:Aim", {"archer": A2C}),
    "ppo, box": configured(
        "tests.trainers.small_worlds:Aim", {"archer": {**PPO, "model": NORMALISED}}, num_envs=7, num_steps=4
    ),
    "action masks": configured("tests.trainers.small_worlds:Narrowing", {"left": PPO, "right": A2C}, num_envs=4),
    "agent masks": scattered({"left": PPO, "right": {**PPO, "model": NORMALISED}}, num_envs=5, counted=0.6),
    "agent masks, a2c": scattered({"left": A2C, "right": A2C}, num_envs=4, counted=0.6),
    "two groups": scattered(shared(model=NORMALISED)),
    "two groups, masks": scattered(shared(model=NORMALISED), num_envs=5, counted=0.5),
    "a few rows": scattered(shared(max_grad_norm=0.01, num_minibatches=12), num_envs=2, num_steps=4, counted=0.5),
    "hardly any row": scattered(shared(), num_envs=2, num_steps=4, counted=0.05),
    "no row": scattered(shared(model=NORMALISED), num_envs=2, num_steps=4, counted=0.0),
    "minibatches of one row": configured("cartpole", {"agent": {**PPO, "num_minibatches": 8}}, 2, 4, fused=False),
    "lstm": configured(
        "tests.trainers.recall:Lives", {"left": {**PPO, "model": LSTM, "num_minibatches": 3}, "right": A2C}
    ),
    "lstm, masks": configured(
        "tests.trainers.recall:Lives",
        shared(model=LSTM, num_minibatches=3),
        num_envs=5,
        env={"counted": 0.4, "dying": 0.1},
    ),
    "gru, hardly any row": configured(
        "tests.trainers.recall:Lives",
        shared(model=GRU, num_minibatches=3),
        num_envs=2,
        num_steps=3,
        env={"counted": 0.1},
    ),
    "gru, v-trace": configured(
        "tests.trainers.recall:Lives",
        shared(model=GRU, num_minibatches=3, value_targets="vtrace", rho_bar=2.0),
        num_envs=5,
    ),
    "v-trace": configured("cartpole", {"agent": {**PPO, "value_targets": "vtrace"}}),
    "bytes, choices and floats": configured(
        "tests.trainers.collecting.seen_in_kinds:SeenAs",
        {"walker": {**PPO, "model": NORMALISED}},
        num_envs=5,
        env={"kind": "mixed", "rests": True},
    ),
    "metrics": configured("tests.trainers.measured:Measured", {"left": PPO, "right": A2C}, num_envs=5),
    "a curriculum": configured(
        "cartpole",
        {"agent": PPO},
        env={"episode_length": 5},
        curriculum={"parameters": {"pole_length": [2.0, 0.1]}, "levels": 3, "success": 4.0},
    ),
    "target_kl": configured("cartpole", {"agent": {**PPO, "update_epochs": 20, "target_kl": 1e-3}}),
}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two processes make of each case."""
    return together(2, tmp_path_factory.mktemp("two"), trained, CASES)


def learnt(line: Mapping[str, Any]) -> dict[str, float]:
    """What an iteration's metrics say besides the time; an infinite number stands for none."""
    timed = {name for name in line if name == "time" or name.startswith("perf/")}
    return {name: math.inf if math.isnan(line[name]) else line[name] for name in line if name not in timed}


@pytest.mark.heavy
@pytest.mark.parametrize("case", CASES)
@pytest.mark.long
def test_two_processes_learn_what_one_does(pairs: list[dict[str, Any]], case: str) -> None:
    expected, found = alone(CASES[case]), pairs[0][case]
    assert len(found["lines"]) == UPDATES
    for line, wanted in zip(found["lines"], expected["lines"], strict=True):
        assert list(line) == list(wanted)
        assert learnt(line) == pytest.approx(learnt(wanted), rel=2e-4, abs=2e-6)
    for name, weight in expected["weights"].items():
        torch.testing.assert_close(found["weights"][name], weight, rtol=1e-3, atol=2e-5)
    learning = [line[name] for line in expected["lines"] for name in line if name.endswith("grad_norm")]
    assert any(learning) == (case != "no row")


@pytest.mark.parametrize("case", CASES)
def test_weights_and_metrics_are_the_same_bits_in_both(pairs: list[dict[str, Any]], case: str) -> None:
    one, other = pairs[0][case], pairs[1][case]
    assert one["weights"].keys() == other["weights"].keys()
    for name, weight in one["weights"].items():
        assert torch.equal(weight, other["weights"][name]), name
    assert [repr(learnt(line)) for line in one["lines"]] == [repr(learnt(line)) for line in other["lines"]]


def test_epochs_end_early_in_both(pairs: list[dict[str, Any]]) -> None:
    steps = [pair["target_kl"]["state"]["learners"]["agent"]["optimizer"]["state"][0]["step"] for pair in pairs]
    assert steps[0] == steps[1] < UPDATES * 20 * 4  # fewer epochs than allowed


@pytest.mark.parametrize("case", ["lstm", "lstm, masks"])
def test_what_agents_remember_is_saved_as_one_process_would(pairs: list[dict[str, Any]], case: str) -> None:
    one, other = Trainer(CASES[case]), Trainer(CASES[case])
    one.load_state_dict(pairs[0][case]["state"])
    other.load_state_dict(alone(CASES[case])["state"])
    remembered, expected = (trainer.world["recurrent_state_left"] for trainer in (one, other))
    assert expected.any(-1).sum() > 4
    torch.testing.assert_close(remembered, expected, rtol=0, atol=1e-3)  # the weights differ by as much


@pytest.mark.long
def test_three_processes(tmp_path: Path) -> None:
    config = CASES["agent masks"]
    found = together(3, tmp_path / "three", trained, {"": config})
    expected = alone(config)
    for line, wanted in zip(found[0][""]["lines"], expected["lines"], strict=True):
        assert learnt(line) == pytest.approx(learnt(wanted), rel=2e-4, abs=2e-6)


# --- the store --------------------------------------------------------------------------------------------------------


def collected(config: RunConfig, group: ProcessGroup) -> World:
    """The world of one of several processes after two rollouts; nothing in them is common to the processes."""
    world = build_world(config, processes=group)
    policies = build_policies(config, world.environment, torch.Generator().manual_seed(1))
    served = {name: policies[policy] for policy, entry in config.policy.items() for name in entry.groups}
    rollout = Recorded(world, served, config.trainer.num_steps)
    world.reset()
    rollout.collect()
    rollout.collect()
    return world


@pytest.mark.parametrize("algorithm", ["random", "ppo"])
@pytest.mark.parametrize(("name", "num_envs"), [("tag_gridworld", 101), ("tag_continuous", 13), ("cartpole", 1000)])
def test_every_array_is_that_of_one_process(name: str, num_envs: int, algorithm: str) -> None:
    groups = [group.name for group in get_environment(name)().groups()]
    policy = {group: {"algorithm": algorithm, "groups": [group]} for group in groups}
    config = configured(name, policy, num_envs=num_envs, num_steps=12)
    whole = collected(config, ALONE)
    parts = [collected(config, ProcessGroup(rank, 2)) for rank in range(2)]
    assert [part.num_envs for part in parts] == [num_envs - num_envs // 2, num_envs // 2]
    for array in whole.data:
        along = [axis for axis, length in enumerate(whole[array].shape) if length == num_envs]
        assert along or whole.data.array(array).per == "world"
        both = [part[array] for part in parts]
        joined = torch.cat(both, along[0]) if along else both[0]
        assert same_bits(joined, whole[array]), array


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    one, other = one.contiguous().flatten().view(torch.uint8), other.contiguous().flatten().view(torch.uint8)
    return torch.equal(one, other)


@pytest.mark.parametrize("case", ["ppo, uneven", "agent masks"])
def test_a_checkpoint_has_the_layout_of_one_process(pairs: list[dict[str, Any]], case: str) -> None:
    expected, found = alone(CASES[case])["state"], pairs[0][case]["state"]
    assert found["layout"] == expected["layout"]
    assert found["store"].shape == expected["store"].shape
    assert found.keys() == expected.keys()


# --- what must not differ ------------------------------------------------------------------------------------------


def refused(group: ProcessGroup, differing: int) -> str:
    """What a process hears where another has a config of its own."""
    seed = 2 if group.rank == differing else 1
    try:
        Trainer(configured("cartpole", {"agent": PPO}, seed=seed), processes=group)
    except ProcessError as error:
        return str(error)
    return ""


def test_another_configuration_is_refused_by_all(tmp_path: Path) -> None:
    heard = together(3, tmp_path / "three", refused, 1)
    assert len(set(heard)) == 1
    assert heard[0].startswith("process 1 of 3 has another configuration than process 0; start all processes with the")


# --- shares -----------------------------------------------------------------------------------------------------------


def test_shares_are_contiguous_and_differ_by_one() -> None:
    shares = [ProcessGroup(rank, 4).share(10) for rank in range(4)]
    assert shares == [range(0, 3), range(3, 6), range(6, 8), range(8, 10)]
    assert ALONE.share(10) == range(10)


def test_fewer_envs_than_processes() -> None:
    with pytest.raises(ConfigError, match=r"trainer.num_envs is 3, expected at least one env for each of the 4 proc"):
        ProcessGroup(0, 4).share(3)


# --- whose fault it is ------------------------------------------------------------------------------------------------

GONE = "Connection closed by peer [127.0.0.1]:4321"
ASSERTED = "CUDA error: device-side assert triggered\nCUDA kernel errors might be reported elsewhere"
LOST = "CUDA error: unspecified driver error\nmore"
SHARED = (
    "NCCL error in: ProcessGroupNCCL.cpp:1, invalid usage (run with NCCL_DEBUG=WARN for details)\n"
    "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
    "Last error:\nDuplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000"
)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (RuntimeError(GONE), ProcessError, "^another process of this run ended or cannot be reached any more"),
        (dist.DistBackendError("ncclRemoteError: gone"), ProcessError, "^another process of this run ended or"),
        (
            torch.AcceleratorError(ASSERTED),
            KernelError,
            r"^a kernel that was launched before: an assert\(\) in it failed",
        ),
        (
            torch.AcceleratorError(LOST),
            DeviceError,
            r"^this process's GPU failed \(CUDA error: unspecified driver error\);",
        ),
        (torch.OutOfMemoryError("CUDA out of memory."), DeviceError, "^the GPU's memory is full"),
        (
            dist.DistBackendError(SHARED),
            DeviceError,
            r"^two processes of this run have the same GPU \(Duplicate GPU detected : rank 1 and rank 0 both on CUDA "
            r"device 1000\), expected one for each; start as many processes as there are GPUs, give each another in ",
        ),
    ],
)
def test_whose_fault_it_is(
    error: Exception, kind: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any, **named: Any) -> None:
        raise error

    group = ProcessGroup(0, 2)
    calls = {
        "all_reduce": lambda: group.sum(torch.ones(1)),
        "all_gather": lambda: group.stack(torch.ones(1)),
        "broadcast": lambda: group.first_says(torch.ones(1)),
        "recv": lambda: group.gather(torch.ones(1), [1, 1]),
    }
    for name, call in calls.items():
        monkeypatch.setattr(dist, name, fail)
        with pytest.raises(kind, match=words) as raised:
            call()
        assert raised.value.__cause__ is error
        assert "\n" not in str(raised.value)
