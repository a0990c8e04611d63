"""examples/onnx_player.py: it acts as the policy does, and its memory begins anew with each episode."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpworld
from tests.policies.exporting.policies import policy_of, seen

pytestmark = [pytest.mark.cpu_backend, pytest.mark.slow]
EXAMPLE = Path(__file__).parents[2] / "examples" / "onnx_player.py"


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    return runpy.run_path(str(EXAMPLE))


def test_a_policy_that_remembers(example: dict[str, Any], tmp_path: Path) -> None:
    policy = policy_of("lstm")
    assert policy.spaces is not None
    warpworld.export_policy(policy, tmp_path / "own.onnx")
    player, state = example["Player"](str(tmp_path / "own.onnx"), 40), None
    ended = np.zeros(40, bool)
    for step in range(8):
        observations = seen(policy.spaces.observation, 40, step)
        if state is not None:
            state[ended] = 0.0
        actions, state = policy.act(observations, greedy=True, state=state)
        np.testing.assert_array_equal(player.act(ended, observations=observations), actions)
        np.testing.assert_allclose(player.state, state, atol=1e-5)
        ended = np.random.default_rng(step).random(40) < 0.3


@pytest.mark.usefixtures("optimised")
def test_it_plays_cartpole(example: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = warpworld.train("cartpole", ["trainer.total_env_steps=400_000"])
    warpworld.export_policy(warpworld.load_policy(run), tmp_path / "agent.onnx")
    assert example["play"](str(tmp_path / "agent.onnx")) > 195  # at random episodes last about 22 steps
