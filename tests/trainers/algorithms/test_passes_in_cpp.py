"""All steps of a pass in C++: bit for bit those that are taken one by one."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.policies.fused.fused_cases import Case
from tests.policies.fused.fused_sequences import Seen, policy_of
from tests.trainers.test_resumed_runs import MEMORY, REMEMBERING_CRITIC, RUN_CONFIGS, TRAINER
from warpworld.config import config_from_dict
from warpworld.errors import StoreError
from warpworld.policies import Policy
from warpworld.policies.fused import FusedAdam, Loss, fused_networks
from warpworld.policies.fused.gradients import FusedGradients
from warpworld.trainers.algorithms.experience.sequences import Experience
from warpworld.trainers.algorithms.parameters.flat_parameters import FlatParameters
from warpworld.trainers.measurements import Metrics
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

SEVERAL = {"num_minibatches": 3, "update_epochs": 2}
BY_KL = {"desired_kl": 0.002, "anneal_lr": False, "learning_rate": 1e-3}
RUNS: dict[str, dict[str, Any]] = {
    "choices": {"name": "cartpole", "policy": {"agent": SEVERAL}},
    "a Box": {"name": "pendulum", "policy": {"agent": SEVERAL}},
    "a2c": {"name": "cartpole", "policy": {"agent": {"algorithm": "a2c", "num_minibatches": 3}}},
    "memory": {"name": "cartpole", "policy": {"agent": {**SEVERAL, "model": MEMORY}}},
    "target_kl": {"name": "cartpole", "policy": {"agent": {**SEVERAL, "target_kl": 0.001}}},
    "kl_coef": {"name": "cartpole", "policy": {"agent": {**SEVERAL, "kl_coef": 0.5}}},
    "kl_coef_target": {"name": "cartpole", "policy": {"agent": {**SEVERAL, "kl_coef": 0.5, "kl_coef_target": 0.01}}},
    "desired_kl": {"name": "cartpole", "policy": {"agent": {**SEVERAL, **BY_KL}}},
    "desired_kl, target_kl": {"name": "cartpole", "policy": {"agent": {**SEVERAL, **BY_KL, "target_kl": 0.01}}},
    "segments": {"name": "cartpole", "policy": {"agent": {**SEVERAL, "priority_alpha": 0.8}}},
    "segments of agents that leave": {
        "name": "skirmish",
        "policy": {"agent": {**SEVERAL, "groups": ["ally", "enemy"], "priority_alpha": 0.8, "replay_ratio": 4 / 3}},
    },
    "v-trace": {"name": "cartpole", "policy": {"agent": {**SEVERAL, "value_targets": "vtrace"}}},
    "central critics": {
        "name": "tests.trainers.replay.stated:Stated",
        "env": {"dying": 0.1, "resting": 0.2, "truncating": 0.1, "forbidding": 0.3},
        "policy": {
            "left": {"algorithm": "a2c", "num_minibatches": 3, "value_targets": "vtrace"},
            "middle": {**REMEMBERING_CRITIC, **SEVERAL, "value_targets": "vtrace"},
            "right": {**REMEMBERING_CRITIC, **SEVERAL, "value_targets": "vtrace", "priority_alpha": 0.8},
        },
    },
    "normalised observations": RUN_CONFIGS["normalised observations"],
    "agents that leave": {"name": "skirmish", "policy": {"agent": {**SEVERAL, "groups": ["ally", "enemy"]}}},
}
# Steps of a call, which are those of two passes but for these: where one is all there is, and where others may be left
# out or learn from other targets.
AT_ONCE = {
    "a2c": 3,
    "segments of agents that leave": 4,
    "target_kl": 3,
    "desired_kl, target_kl": 3,
    "v-trace": 3,
    "central critics": 3,
    "normalised observations": 4,
}
LOSS = Loss(surrogate=True, normalise_advantages=True, clip_coef=0.2, ent_coef=0.01, vf_coef=0.5)


def trained(run: dict[str, Any], passes_in_cpp: bool) -> tuple[list[Tensor], list[Metrics]]:
    """Weights and moments at the end, and each iteration's metrics but times."""
    trainer, noted = Trainer(config_from_dict({**run, "trainer": {**TRAINER, "seed": 5}})), list[Metrics]()
    for algorithm in trainer.algorithms.values():
        algorithm.passes_in_cpp = passes_in_cpp  # type: ignore[attr-defined]
    trainer.train(None, on_iteration=noted.append)
    for metrics in noted:
        for name in [name for name in metrics if name.startswith("perf/") or name in ("time", "steps_per_second")]:
            del metrics[name]
    parameters = [algorithm.parameters for algorithm in trainer.algorithms.values()]  # type: ignore[attr-defined]
    return [tensor.clone() for each in parameters for tensor in each.tensors()], noted


@pytest.mark.parametrize(
    "run", [pytest.param(run, marks=[pytest.mark.long] * (run == "central critics")) for run in RUNS]
)
def test_a_run_is_the_same_bit_for_bit(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, steps = list[int](), FusedGradients.steps

    def counted(*given: Any) -> Tensor:
        taken.append(len(given[2]))
        return steps(*given)

    monkeypatch.setattr(FusedGradients, "steps", counted)
    alone, metrics = trained(RUNS[run], passes_in_cpp=False)
    assert not taken
    found, others = trained(RUNS[run], passes_in_cpp=True)
    assert taken == [AT_ONCE.get(run, 6)] * len(taken)
    assert len(taken) >= len(metrics) - 1  # torch makes Adam's moments in the first update
    assert all(torch.equal(one, other) for one, other in zip(found, alone, strict=True))
    assert repr(metrics) == repr(others)


@pytest.mark.parametrize("fused", [True, False])
def test_torch_leaves_the_cores_to_it(fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch's threads would spin after an operation; without C++ they are wanted."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: counts[-1])
    monkeypatch.setattr(torch, "set_num_threads", lambda count: counts.append(count))
    counts, during = [2], list[int]()
    sizes = {"num_envs": 4, "num_steps": 8, "num_workers": 1, "torch_threads": 2, "device": "cpu", "fused": fused}
    run = {"name": "cartpole", "policy": {"agent": {}}, "trainer": {**sizes, "total_env_steps": 64}}
    trainer = Trainer(config_from_dict(run))
    (algorithm,) = trainer.algorithms.values()
    ends, end = iter([None, ValueError]), algorithm.updates._end  # type: ignore[attr-defined]

    def noted() -> None:
        during.append(counts[-1])
        if error := next(ends):
            raise error
        end()

    monkeypatch.setattr(algorithm.updates, "_end", noted)
    with pytest.raises(ValueError):
        trainer.train(None)
    assert during == ([1, 1] if fused else [2, 2])
    assert counts[-1] == 2  # afterwards, also after an error


def in_hand(policy: Policy, experience: Experience) -> tuple[FlatParameters, FusedGradients]:
    """A policy's parameters with their moments made, and the gradients of an experience."""
    parameters = FlatParameters(policy, 1e-2)
    parameters.tensors()
    parameters.native = FusedAdam()
    return parameters, fused_networks(policy, 1).gradients(experience)


def case_of(kind: str) -> tuple[Policy, Experience]:
    if kind == "mlp":
        policy = (case := Case(rows=900)).policy()
        return policy, case.batch(policy)
    return (policy := policy_of(kind)), Seen.random(policy, 5, 90).experience(policy)


@pytest.mark.parametrize("kind", ["mlp", "gru"])
def test_steps_are_those_of_a_gradient_each(kind: str) -> None:
    """Of minibatches that differ in length, and of more than are taken at once."""
    counts = [7, 1, 20, 3] * 60
    order = torch.randint(90, (sum(counts),), generator=torch.Generator().manual_seed(8))
    policy, experience = case_of(kind)
    parameters, gradients = in_hand(policy, experience)
    expected = []
    for part in order.split(counts):
        diagnostics = gradients(part, LOSS)
        expected.append(torch.cat([diagnostics, parameters.step(0.5).view(1)]))
    policy, experience = case_of(kind)
    others, gradients = in_hand(policy, experience)
    step = others.native_step(0.5)
    assert step is not None
    found = gradients.steps(order, counts, LOSS, step)
    assert torch.equal(found, torch.stack(expected))
    assert torch.equal(others.vector, parameters.vector)


def test_a_row_or_an_action_that_does_not_exist_ends_them() -> None:
    policy, batch = case_of("mlp")
    batch.actions[800] = 2  # type: ignore[attr-defined]
    parameters, gradients = in_hand(policy, batch)
    step = parameters.native_step()
    assert step is not None
    first = parameters.vector.detach().clone()
    with pytest.raises(StoreError, match=r"^batch actions: outside of what \(2,\) choices a head allow$"):
        gradients.steps(torch.tensor([1, 2, 800]), [2, 1], LOSS, step)
    after = parameters.vector.detach().clone()
    assert not torch.equal(first, after)  # the step before was taken
    with pytest.raises(StoreError, match=r"^rows: expected at least one, each of 0 to 899$"):
        gradients.steps(torch.tensor([900, 1]), [1, 1], LOSS, step)
    with pytest.raises(StoreError, match=r"^rows: expected at least one, each of 0 to 899$"):
        gradients.steps(torch.tensor([], dtype=torch.int64), [], LOSS, step)
    assert torch.equal(after, parameters.vector)


def test_ctrl_c_ends_them() -> None:
    policy, batch = case_of("mlp")
    parameters, gradients = in_hand(policy, batch)
    step = parameters.native_step()
    assert step is not None
    counts = [900] * 20_000  # steps of some 10 s
    taken = parameters.optimizer.state[parameters.vector]["step"]
    first = float(taken)

    def interrupt() -> None:
        while taken == first:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        gradients.steps(torch.arange(900).repeat(20_000), counts, LOSS, step)
    interrupting.join()
    assert first < taken < len(counts)


def test_what_c_plus_plus_cannot_step_is_left_to_torch() -> None:
    parameters, _ = in_hand(*case_of("mlp"))
    assert parameters.native_step() is not None
    parameters.native = None
    assert parameters.native_step() is None
    fresh = FlatParameters(Case().policy(), 1e-2)
    fresh.native = FusedAdam()
    assert fresh.native_step() is None  # its optimiser has no moments yet
