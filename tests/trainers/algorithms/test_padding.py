"""The zeros between a policy's parameters, which align them for a GPU, count for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainers.algorithms.ppo_cases import Settings, make_batch, make_policy, seeded
from tests.trainers.together import together
from warpworld.config import config_from_dict
from warpworld.policies.fused import fuse, fused_gradient
from warpworld.trainers.algorithms.a2c import A2C
from warpworld.trainers.algorithms.on_policy import OnPolicy
from warpworld.trainers.algorithms.ppo import PPO
from warpworld.trainers.processes.distributed import ProcessGroup
from warpworld.trainers.trainer import Trainer

SIZES = (7, 3)  # (4, 7), 7, (7, 3), 3, ... : most of them no multiples of 4
EXPECTED_PADDING = (
    1 + 3 + 1 + 1 + 3 + 1 + 3 + 1 + 1 + 3
)  # of 7, 21, 3, 15, 5 in the actor; 7, 21, 3, 3, 1 in the critic


def between(learner: OnPolicy, vector: Tensor) -> Tensor:
    """What of a vector like the parameters' lies in no parameter."""
    inside, start = torch.zeros(len(vector), dtype=torch.bool), learner.parameters.vector.data_ptr()
    for parameter in learner.policy.parameters():
        first = (parameter.data_ptr() - start) // 4
        inside[first : first + parameter.numel()] = True
    return vector.detach()[~inside]


def vectors(learner: OnPolicy) -> dict[str, Tensor]:
    state = learner.parameters.optimizer.state[learner.parameters.vector]
    assert learner.parameters.vector.grad is not None
    return {"weights": learner.parameters.vector.detach(), "gradient": learner.parameters.vector.grad, **state}


def learnt(algorithm: Any, fused: bool = False, **settings: Any) -> tuple[Any, list[Any]]:
    """A learner after four updates, and their diagnostics."""
    learner = algorithm(make_policy(hidden_sizes=SIZES), Settings(**{"learning_rate": 0.02, **settings}))
    assert fuse(learner.policy) if fused else fused_gradient(learner.policy) is None
    batches = [make_batch(learner.policy, seed=seed) for seed in range(4)]
    return learner, [learner.update(batch, seeded(seed)) for seed, batch in enumerate(batches)]


@pytest.mark.parametrize("algorithm", [PPO, A2C])
@pytest.mark.parametrize("fused", [False, True])
def test_the_padding_stays_zero(algorithm: Any, fused: bool) -> None:
    learner, _ = learnt(algorithm, fused)
    for name, vector in vectors(learner).items():
        if name == "step":
            continue
        padding = between(learner, vector)
        assert len(padding) == EXPECTED_PADDING, name
        assert not padding.any(), name
        assert vector.any(), name


def of_several(group: ProcessGroup) -> list[bool]:
    """Whether weights, gradient and moments have anything but zeros between parameters, after a run of several."""
    sizes = {"device": "cpu", "num_envs": 4, "num_steps": 8, "total_env_steps": 96}
    policy = {"agent": {"num_minibatches": 2, "model": {"hidden_sizes": list(SIZES)}}}
    trainer = Trainer(config_from_dict({"name": "cartpole", "trainer": sizes, "policy": policy}), processes=group)
    trainer.train(None)
    learner = trainer.algorithms["agent"]
    found = [vector for name, vector in vectors(learner).items() if name != "step"]
    assert all(vector.any() for vector in found)
    return [bool(between(learner, vector).any()) for vector in found]


@pytest.mark.long
def test_the_padding_stays_zero_among_several_processes(tmp_path: Path) -> None:
    assert together(2, tmp_path / "two", of_several) == [[False] * 4] * 2


@pytest.mark.parametrize("algorithm", [PPO, A2C])
@pytest.mark.parametrize("fused", [False, True])
def test_learning_is_that_without_padding(algorithm: Any, fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    padded, found = learnt(algorithm, fused)
    monkeypatch.setattr("warpworld.trainers.algorithms.parameters.flat_parameters.ALIGNMENT", 1)
    packed, expected = learnt(algorithm, fused)
    assert len(padded.parameters.vector) - len(packed.parameters.vector) == EXPECTED_PADDING
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
    for one, other in zip(padded.policy.parameters(), packed.policy.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_sizes_that_need_no_padding_lie_as_without() -> None:
    policy = make_policy(heads=(4,), hidden_sizes=(16, 8))
    learner = A2C(policy, Settings())
    assert (
        len(learner.parameters.vector) == sum(parameter.numel() for parameter in policy.parameters()) + 3
    )  # a bias of 1


def test_the_gradients_length_is_that_of_the_parameters() -> None:
    learner, found = learnt(A2C, num_minibatches=1, max_grad_norm=1e9)
    squares = [float((parameter.grad.double() ** 2).sum()) for parameter in learner.policy.parameters()]
    assert float(found[-1]["grad_norm"]) == pytest.approx(sum(squares) ** 0.5, rel=1e-6)
