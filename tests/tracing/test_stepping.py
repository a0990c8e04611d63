"""What is counted of episodes while a world is stepped at random."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.toys import agents, environment
from warpworld import World
from warpworld.tracing.stepping import step_at_random

GROUPS = agents(2, "fox"), agents(1, "hen")


def step(arrays: Any, active: Tensor) -> None:
    """Env 0 terminates in step 2, env 1 is truncated in step 3, env 2 both in step 4; agent a gets a + 1 a step."""
    timestep, env = arrays["timestep"], torch.arange(3)
    arrays["terminated"] = ((env == 0) & (timestep == 2)) | ((env == 2) & (timestep == 4))
    arrays["truncated"] = ((env == 1) & (timestep == 3)) | ((env == 2) & (timestep == 4))
    arrays["rewards"] = torch.tensor([1.0, 2.0, 3.0]).expand(3, 3)


def nothing(arrays: Any, active: Tensor) -> None:
    pass


def test_episodes_are_counted_by_how_they_ended() -> None:
    """One that terminates at its limit has terminated. What an episode begins with is not what the last had."""
    world = World(environment(None, groups=GROUPS, phases=[step], resets=[nothing]), 3, device="cpu")
    found = step_at_random(world, 12, seed=0)
    assert (found.terminated, found.truncated) == (6 + 3, 4)
    assert sorted(found.lengths) == [2] * 6 + [3] * 4 + [4] * 3
    for group, reward in (("fox", 1.5), ("hen", 3.0)):
        assert found.returns[group] == pytest.approx([reward * length for length in found.lengths])
