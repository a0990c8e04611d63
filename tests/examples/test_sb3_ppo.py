"""examples/sb3_ppo.py: Stable-Baselines3's PPO learns on a World."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytestmark = [pytest.mark.cpu_backend, pytest.mark.slow]


@pytest.mark.exhaustive
def test_it_learns() -> None:
    pytest.importorskip("stable_baselines3")
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "sb3_ppo.py"))
    assert example["train"](total_steps=60_000) > 100  # at random episodes last about 22 steps
