"""How many steps a check takes by default: so many that an episode reaches its end."""

from __future__ import annotations

from pathlib import Path

import pytest

import warpworld
from tests.toys import HEADER, environment
from warpworld import Environment

pytestmark = pytest.mark.cpu_backend

LIMITED = """
extern "C" __global__ void step(const int* timestep, bool* truncated, int episode_length) {
  if (!is_active() || agent_id() != 0) return;
  if (timestep[env_id()] >= episode_length)
    truncated[env_id()] = true;
}
extern "C" __global__ void reset() {}
"""


def limited(folder: Path, episode_length: int) -> Environment:
    """An environment whose only episode's end is its time limit."""
    (folder / "limited.cu").write_text(HEADER + LIMITED)
    return environment(folder / "limited.cu", params={"episode_length": episode_length})


@pytest.mark.parametrize(("length", "steps"), [(10, 120), (300, 301), (499, 500), (10_000, 500)])
def test_they_follow_the_episodes_length(tmp_path: Path, length: int, steps: int) -> None:
    report = warpworld.check(limited(tmp_path, length))
    (step,) = (each for each in report.coverage if each.kernel == "step")
    assert report.steps == steps
    assert (not step.never) == (length < steps)


def test_an_environment_without_a_length(tmp_path: Path) -> None:
    (tmp_path / "idle.cu").write_text(HEADER + 'extern "C" __global__ void step() {}\n')
    toy = environment(tmp_path / "idle.cu", params={"episode_length": "long"}, resets=[])
    assert warpworld.check(toy).steps == 120
