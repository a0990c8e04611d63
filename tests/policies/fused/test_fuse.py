"""Which policies C++ runs, and what is said of the others."""

from __future__ import annotations

import copy
import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from gymnasium.spaces import Box
from torch import nn

from tests.policies.fused.fused_cases import Case
from warpworld.errors import BuildError, ConfigError
from warpworld.managers.cpu.native_library import NativeLibrary
from warpworld.policies import MLP, Categorical, Policy
from warpworld.policies.fused import FusedNetworks, fuse, fused_gradient
from warpworld.trainers.building import fuse_policies


def test_a_plain_policy_is_fused_and_a_copy_of_it_is_not() -> None:
    policy = Case().policy()
    assert fused_gradient(policy) is None
    assert fuse(policy)
    assert isinstance(fused_gradient(policy), FusedNetworks)
    assert fused_gradient(copy.deepcopy(policy)) is None
    observations = torch.randn(20, 4)
    assert policy.outputs(observations).requires_grad
    with torch.no_grad():
        assert torch.equal(policy.outputs(observations), policy.model.fused.outputs(observations))
        assert torch.equal(policy.value(observations), policy.model.fused.value(observations))


def test_actions_in_a_box_are_fused() -> None:
    policy = Case(box=3).policy()
    assert fuse(policy)
    assert fused_gradient(policy) is policy.model.fused


class Own(MLP):
    pass


def changed(**modules: nn.Module) -> Policy:
    policy = Case().policy()
    for name, module in modules.items():
        setattr(policy.model, name, module)
    return policy


def layers(*modules: nn.Module) -> nn.Sequential:
    return nn.Sequential(*modules)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (Policy(Own(Box(-1.0, 1.0, (4,)), 2), Categorical((2,))), "its model is a Own, none of the packaged ones"),
        (Case().policy().double(), "it is not float32 on the cpu"),
        (
            changed(critic_layers=layers(nn.Linear(4, 1, bias=False))),
            "it has a Linear where a linear layer with a",
        ),
        (changed(actor_layers=layers(nn.Linear(4, 2), nn.Tanh())), "it has a Tanh where a linear layer with a"),
        (changed(actor_layers=layers(nn.Linear(4, 2), nn.GELU(), nn.Linear(2, 2))), "it has a GELU where tanh"),
        (
            changed(actor_layers=layers(*(nn.Linear(2, 2) for _ in range(3)))),
            "it has a Linear where tanh",
        ),
        (
            changed(actor_layers=layers(*(nn.Linear(2, 2) for _ in range(2)))),
            "it has 1 modules where layers with an",
        ),
        (Case(hidden=(2,) * 49).policy(), "it has 49 layers before its last, more than 48"),
    ],
)
def test_other_policies_are_left_to_torch(policy: Policy, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert not fuse(policy, "mine")
    assert f"policy 'mine' is run by torch, without fused kernels: {reason}" in caplog.text
    assert fused_gradient(policy) is None


def test_what_is_required_and_cannot_be_had_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        fuse(Policy(Own(Box(-1.0, 1.0, (4,)), 2), Categorical((2,))), "mine", required=True)
    assert str(refused.value) == (
        "trainer.fused is required, but policy 'mine' can be run by torch alone: its model is a Own, none of the "
        "packaged ones; set it to true, which leaves such policies to torch"
    )
    policy = Case().policy()
    assert fuse(policy, required=True) and fused_gradient(policy) is not None


def test_only_policies_on_the_cpu_are_fused(caplog: pytest.LogCaptureFixture) -> None:
    elsewhere, here = Case().policy().to("meta"), Case().policy()
    with caplog.at_level(logging.INFO):
        fuse_policies({"elsewhere": elsewhere, "here": here, "random": None})
    assert fused_gradient(elsewhere) is None
    assert fused_gradient(here) is not None
    assert "without fused kernels" not in caplog.text


def test_without_a_compiler_torch_does_the_work(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: Any) -> None:
        raise BuildError("no C++ compiler found")

    monkeypatch.setattr("warpworld.policies.fused.networks.library", fail)
    policy = Case().policy()
    assert not fuse(policy, "mine")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "policy 'mine' is run by torch, without fused kernels: no C++ compiler found" in caplog.text


def test_a_library_that_does_not_compile_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = tmp_path / "broken.cpp"
    source.write_text("int f() { return nothing_like_it; }\n")
    with pytest.raises(BuildError, match=r"broken\.cpp does not compile with .*nothing_like_it"):
        NativeLibrary(source)
