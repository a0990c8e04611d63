"""What cannot be exported, and what is said of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import warpworld
from tests.policies.exporting.policies import policy_of
from warpworld.config import ModelConfig
from warpworld.environment import Group
from warpworld.errors import ExportError
from warpworld.policies import Policy, build_policy

pytestmark = pytest.mark.cpu_backend


def said_of(policy: Policy, path: Path) -> str:
    """The error; nothing was written."""
    before = sorted(path.parent.glob("**/*"))
    with pytest.raises(ExportError) as error:
        warpworld.export_policy(policy, path)
    assert sorted(path.parent.glob("**/*")) == before
    return str(error.value)


def with_model(name: str, module: str = "tests.policies.exporting.broken_models", **settings: Any) -> Policy:
    spaces = policy_of("mlp").spaces
    assert spaces is not None
    model = ModelConfig(type=f"{module}:{name}", **settings)
    return build_policy(model, Group("own", 1, spaces.observation, spaces.action), torch.Generator())


@pytest.mark.parametrize(
    ("name", "ending", "hint"),
    [("a.onxx", "onxx", " Did you mean 'onnx'?"), ("pt2", "", ""), ("a.pt", "pt", " Did you mean 'pt2'?")],
)
def test_unknown_format(name: str, ending: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / name
    assert said_of(policy_of("mlp"), path) == f"'{path}': format '{ending}', expected onnx or pt2.{hint}"


@pytest.mark.parametrize("package", ["onnx", "onnxscript", "onnxruntime"])
def test_a_package_that_is_missing(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("onnx", "onnxscript", "onnxruntime"):
        monkeypatch.setitem(sys.modules, name, None if name == package else sys)
    assert said_of(policy_of("mlp"), tmp_path / "own.onnx") == (
        f"format 'onnx' needs {package}, which cannot be imported: pip install onnx onnxscript onnxruntime; "
        "format 'pt2' needs nothing but torch"
    )


def test_a_policy_without_spaces(tmp_path: Path) -> None:
    policy = policy_of("mlp")
    policy.spaces = None
    message = "this policy knows no spaces; export one that load_policy or a Trainer made"
    assert said_of(policy, tmp_path / "own.pt2") == message


@pytest.mark.long
def test_a_model_that_torch_cannot_follow(tmp_path: Path) -> None:
    message = "model 'Stubborn' cannot be exported: RuntimeError: no graphs here,"
    assert said_of(with_model("Stubborn"), tmp_path / "own.pt2") == message


def test_a_model_with_a_state_that_torch_cannot_follow(tmp_path: Path) -> None:
    message = "model 'Stubborn' cannot be exported: RuntimeError: no graphs here"
    policy = with_model("Stubborn", module="tests.policies.stateful_models")
    assert said_of(policy, tmp_path / "own.pt2") == message


def test_an_encoder_that_torch_cannot_follow(tmp_path: Path) -> None:
    message = "model 'Recurrent' with encoder 'Followed' cannot be exported: RuntimeError"
    assert said_of(with_model("StubbornEncoder", recurrent="gru"), tmp_path / "own.pt2") == message


@pytest.mark.long
def test_a_graph_that_refuses_what_it_reads(tmp_path: Path) -> None:
    message = "model 'Choosy' cannot be run as pt2: RuntimeError: too small"
    assert said_of(with_model("Choosy"), tmp_path / "own.pt2") == message


@pytest.mark.long
def test_a_model_that_computes_something_else(tmp_path: Path) -> None:
    path = tmp_path / "own.pt2"
    path.write_text("an older file")
    assert said_of(with_model("Branching"), path) == (
        "what was exported differs from the policy by 0.333 in 'outputs' of 64 observations, expected at most 1e-05; "
        "nothing is written: model 'Branching' must compute the same of all observations, without branches on what "
        "they hold"
    )
    assert path.read_text() == "an older file"


@pytest.mark.slow
def test_an_operation_that_onnx_lacks(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    assert said_of(with_model("Unknown"), tmp_path / "own.onnx").startswith(
        "model 'Unknown' cannot be written as onnx: DispatchError: No ONNX function found for "
        "<OpOverload(op='prims.fmax', overload='default')>."
    )


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "own.pt2"
    path.mkdir()
    assert said_of(policy_of("mlp"), path) == f"'{path}' cannot be written: it is a folder, expected a file"
