"""Runs whose networks multiply in bfloat16: what is computed so by every learner, and what is not."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.trainers.test_resumed_runs import ONE, RUN_CONFIGS, TRAINER
from warpworld.config import config_from_dict
from warpworld.errors import ConfigError
from warpworld.policies.fused import fused_gradient
from warpworld.policies.layers.precision import is_reduced
from warpworld.trainers.trainer import Trainer

pytestmark = [pytest.mark.cpu_backend, pytest.mark.usefixtures("bf16_everywhere")]

FUSE = import_module("warpworld.policies.fused.fuse")  # the package exports its function by the same name
PRODUCTS = {"addmm", "mm", "baddbmm", "bmm", "linear", "convolution", "convolution_backward"}
WITHIN_NETWORKS = {  # activations, copies and views, and sums of gradients
    *("tanh", "tanh_backward", "relu", "threshold_backward", "leaky_relu", "leaky_relu_backward"),
    *("_to_copy", "clone", "cat", "stack", "view", "_unsafe_view", "t", "transpose", "slice", "unbind", "detach"),
    *("sum", "add"),
}
LEARNERS = (
    *("cartpole", "named observations", "mappo with popart and a memory"),
    *("dqn on final observations", "vdn beside qmix", "r2d2", "sac", "td3"),
)


class Operations(TorchDispatchMode):
    """Names of torch's operations that read bfloat16, and of products that do not."""

    def __init__(self) -> None:
        super().__init__()
        self.reduced, self.exact = set[str](), set[str]()

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, read = operation.overloadpacket.__name__, tree_leaves((args, kwargs or {}))
        if any(isinstance(each, torch.Tensor) and each.dtype == torch.bfloat16 for each in read):
            self.reduced.add(name)
        elif name in PRODUCTS:
            self.exact.add(name)
        return operation(*args, **(kwargs or {}))


def trainer_of(trajectory: dict[str, Any], **settings: Any) -> Trainer:
    return Trainer(config_from_dict({**trajectory, "trainer": {**TRAINER, "precision": "bf16", **settings}}))


@pytest.mark.heavy
@pytest.mark.parametrize("learner", LEARNERS)
def test_nothing_but_networks_reads_bfloat16(learner: str) -> None:
    """No distribution, loss, target or optimiser does, and last layers multiply in float32, forward and backward."""
    trainer, seen = trainer_of(RUN_CONFIGS[learner], fused=False), Operations()
    with seen:
        for _ in range(2):
            trainer._iterate()
    assert seen.reduced <= PRODUCTS | WITHIN_NETWORKS
    forward = {"addmm", "baddbmm", "linear"}
    assert forward & seen.reduced and "mm" in seen.reduced
    assert forward & seen.exact and {"mm", "bmm"} & seen.exact


@pytest.mark.long
@pytest.mark.parametrize("precision", ["bf16", "float32"])
def test_acting_learning_and_evaluations_have_the_precision(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trajectory = {"name": "cartpole", "policy": {"agent": ONE}, "saving": {"eval_every": 6, "eval_episodes": 2}}
    trainer, seen = trainer_of(trajectory, precision=precision), dict[str, bool]()

    def note(owner: Any, name: str) -> None:
        called = getattr(owner, name)

        def noted(*given: Any) -> Any:
            seen[name] = is_reduced(torch.zeros(1))
            return called(*given)

        monkeypatch.setattr(owner, name, noted)

    note(trainer.collector, "collect")
    note(trainer.algorithms["agent"], "learn")
    note(trainer.evaluations, "take")
    trainer.train(None)
    assert seen == dict.fromkeys(("collect", "learn", "take"), precision == "bf16")
    assert not is_reduced(torch.zeros(1))


@pytest.mark.long
@pytest.mark.parametrize("has_pairs", [True, False])
def test_learning_differs_and_what_is_kept_is_float32(
    has_pairs: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(FUSE, "multiplies_pairs", lambda: has_pairs)
    trajectory = {"name": "cartpole", "policy": {"agent": ONE}}
    with caplog.at_level(logging.INFO):
        ours, exact = trainer_of(trajectory), trainer_of(trajectory, precision="float32", fused=False)
    line = (
        "policy 'agent' is run by torch, without fused kernels: trainer.precision is bf16, for which the C++ needs a "
        "processor with avx512_bf16"
    )
    assert (line in caplog.text) != has_pairs
    assert (fused_gradient(ours.policies["agent"]) is not None) == has_pairs  # type: ignore[arg-type]
    for trainer in (ours, exact):
        trainer.train(None)
    weights, others = ours.policies["agent"], exact.policies["agent"]
    assert weights is not None and others is not None
    for name, weight in weights.state_dict().items():
        assert weight.dtype == torch.float32
        assert not torch.equal(weight, weight.bfloat16().float()) or not weight.any(), name
        assert 0 < float((weight - others.state_dict()[name]).abs().max()) < 0.01, name
    moments = ours.algorithms["agent"].state_dict()["optimizer"]["state"][0]
    assert moments["exp_avg"].dtype == moments["exp_avg_sq"].dtype == torch.float32


def test_fused_networks_cannot_be_required_where_they_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FUSE, "multiplies_pairs", lambda: False)
    with pytest.raises(ConfigError) as refused:
        trainer_of({"name": "cartpole", "policy": {"agent": ONE}}, fused="required")
    assert str(refused.value) == (
        "trainer.fused is required, but policy 'agent' can be run by torch alone: trainer.precision is bf16, for which "
        "the C++ needs a processor with avx512_bf16; set trainer.precision to float32, or trainer.fused to true, which "
        "leaves such policies to torch"
    )
