"""Exported files do what their policies do, and leave the policies as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import warpworld
from tests.cases import seldom
from tests.policies.exporting.policies import KINDS, inputs_of, opened, policy_of, seen
from warpworld.environment import action_heads
from warpworld.policies import Policy
from warpworld.policies.exporting.interface import action_outputs, as_outputs
from warpworld.policies.fused import fuse

pytestmark = pytest.mark.cpu_backend
STEPS, AGENTS = 6, 5
# Kinds that have all kinds of layers, memories and actions between them.
TELLING = ("gaussian", "pixels", "mixed", "dqn, mask", "dqn, stack", "sac")
MARKS = {kind: pytest.mark.heavy if kind in TELLING else [pytest.mark.heavy, seldom] for kind in KINDS}


def kinds(*first: str) -> list[Any]:
    """All kinds, of which only the first are tested each time: torch takes about a second for each."""
    return [pytest.param(kind, marks=pytest.mark.long if kind in first else MARKS[kind]) for kind in KINDS]


def play_beside(policy: Policy, path: Path, kind: str) -> None:
    """An episode by both, each with a memory of its own."""
    known, run = KINDS[kind], opened(path)
    assert policy.spaces is not None
    draws, own_state = np.random.default_rng(0), None
    state = np.zeros((AGENTS, policy.state_size), np.float32)
    for step in range(STEPS):
        observations = seen(known.observation, AGENTS, step)
        inputs, mask = inputs_of(observations), None
        if known.masked:
            mask = inputs["action_mask"] = draws.random((AGENTS, sum(action_heads(known.action)))) < 0.5
        if policy.state_size:
            inputs["state"] = state
        found = run(inputs)
        with torch.no_grad():
            observed = policy.spaces.observed(observations, torch.device("cpu"))
            outputs, _ = policy.outputs_and_state(observed, own_state)
        np.testing.assert_allclose(found["outputs"], outputs, atol=1e-5 * max(1.0, float(outputs.abs().max())))
        acted = policy.act(observations, greedy=True, action_mask=mask, state=own_state)
        if policy.state_size:
            actions, own_state = acted
            np.testing.assert_allclose(found["next_state"], own_state, atol=1e-5)
            state = found["next_state"]
        else:
            actions = acted
        expected = as_outputs(actions, known.action)
        for name, (_, space) in action_outputs(known.action).items():
            assert found[name].dtype == space.dtype
            if action_heads(space):
                np.testing.assert_array_equal(found[name], expected[name])
            else:
                np.testing.assert_allclose(found[name], expected[name], atol=1e-5)


@pytest.mark.parametrize("kind", kinds("dqn, mask", "sac", "hybrid, mask"))
def test_pt2(kind: str, tmp_path: Path) -> None:
    policy, path = policy_of(kind), tmp_path / "own.pt2"
    exported = warpworld.export_policy(policy, path)
    assert exported.comparison.difference <= 1e-5
    assert exported.size == path.stat().st_size
    play_beside(policy, path, kind)


@pytest.mark.parametrize("kind", kinds("gru"))
def test_onnx(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    policy, path = policy_of(kind), tmp_path / "own.onnx"
    warpworld.export_policy(policy, path)
    play_beside(policy, path, kind)


@pytest.mark.long
def test_the_description(tmp_path: Path) -> None:
    warpworld.export_policy(policy_of("gaussian"), tmp_path / "new" / "own.pt2", {"run": "a"})
    described = json.loads((tmp_path / "new" / "own.pt2.json").read_text())
    assert described == {
        "format": "pt2",
        "run": "a",
        "inputs": [
            {
                "name": "observations",
                "dtype": "float32",
                "shape": ["batch", 4],
                "space": {"type": "Box", "low": None, "high": None},
            }
        ],
        "outputs": [
            {
                "name": "action",
                "dtype": "float32",
                "shape": ["batch", 1, 2],
                "space": {"type": "Box", "low": [[-2.0, 0.0]], "high": [[2.0, None]]},
            },
            {"name": "outputs", "dtype": "float32", "shape": ["batch", 2]},
        ],
        "warpworld": warpworld.__version__,
        "torch": torch.__version__,
    }


def test_descriptions_of_all_spaces() -> None:
    described = {
        port.name: port.described() for port in warpworld.policies.exporting.Interface.of(policy_of("mixed")).inputs
    }
    spaces = {name: port.get("space") for name, port in described.items()}
    assert spaces == {
        "observations_camera": {"type": "Box", "low": 0, "high": 255},
        "observations_flags": {"type": "MultiBinary", "n": 4},
        "observations_imu": {"type": "Box", "low": -5.0, "high": 5.0},
        "observations_kinds": {"type": "MultiDiscrete", "nvec": [2, 3], "start": [-1, 4]},
        "observations_line": {"type": "Box", "low": 0.0, "high": 1.0},
        "observations_one": {"type": "Discrete", "n": 4, "start": 2},
        "state": None,
        "action_mask": None,
    }
    assert described["observations_one"]["shape"] == ["batch"]
    assert described["action_mask"] == {"name": "action_mask", "dtype": "bool", "shape": ["batch", 5]}


@pytest.mark.long
def test_a_fused_policy_stays_fused_and_its_file_needs_torch_alone(tmp_path: Path) -> None:
    policy = policy_of("mlp")
    assert fuse(policy)
    before = {name: weight.clone() for name, weight in policy.state_dict().items()}
    warpworld.export_policy(policy, tmp_path / "own.pt2")
    assert policy.model.fused is not None and policy.spaces is not None
    assert all(weight.requires_grad for weight in policy.parameters())
    assert all(torch.equal(weight, before[name]) for name, weight in policy.state_dict().items())
    play_beside(policy, tmp_path / "own.pt2", "mlp")
    operators = {str(node.target) for node in torch.export.load(tmp_path / "own.pt2").graph.nodes}
    assert str(Path(warpworld.__file__).parent).encode() not in (tmp_path / "own.pt2").read_bytes()
    assert "aten.tanh.default" in operators and not any("mkldnn" in operator for operator in operators)


def test_actions_end_at_the_bounds(tmp_path: Path) -> None:
    policy = policy_of("gaussian")
    with torch.no_grad():
        policy.model.actor_layers[-1].weight.mul_(1000.0)  # type: ignore[union-attr]
    warpworld.export_policy(policy, tmp_path / "own.pt2")
    observations = torch.randn(200, 4, generator=torch.Generator().manual_seed(0)).numpy()
    actions = opened(tmp_path / "own.pt2")({"observations": observations})["action"]
    first, second = actions[:, 0, 0], actions[:, 0, 1]
    assert (first.min(), first.max(), second.min()) == (-2.0, 2.0, 0.0) and second.max() > 10.0
