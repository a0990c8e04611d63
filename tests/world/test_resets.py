"""What restores an env that starts anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.world.walks import Toy, trajectory
from warpworld import Array
from warpworld.errors import DeclarationError


class TestResets:
    STEP = """
extern "C" __global__ void step(int* x, int* y, int* z, int* of_world, const int* timestep, bool* truncated) {
  if (!is_active()) return;
  x[agent_index()]++;
  z[agent_index()]++;
  if (agent_id() != 0) return;
  y[env_id() * 2]++, y[env_id() * 2 + 1]++;
  if (env_id() == 0) of_world[0]++;
  truncated[env_id()] = timestep[env_id()] >= 2 + env_id() % 2;
}
"""
    ARRAYS = (
        Array("x", "int32", initial=[10, 20]),  # one value for each agent
        Array("y", "int32", (2,), per="env", initial=[1, 2]),
        Array("z", "int32", initial=5, on_reset="keep"),
        Array("of_world", "int32", per="world", initial=7),
    )

    def test_without_a_reset_kernel_initial_values_come_back(self, toy: Toy) -> None:
        world = toy(self.STEP, *self.ARRAYS)
        world.reset()
        assert world["x"].tolist() == [[10, 20]] * 6
        for t in range(1, 7):
            world.step()
            for env in range(6):
                length = 2 + env % 2
                since = t % length
                assert world["x"][env].tolist() == [10 + since, 20 + since]
                assert world["y"][env].tolist() == [1 + since, 2 + since]
                assert world["z"][env].tolist() == [5 + t, 5 + t]
        assert world["of_world"] == 13
        world.reset(torch.arange(6) == 1)
        world.step()
        assert world["x"][1].tolist() == [11, 21]

    def test_on_reset_initial_beside_a_reset_kernel(self, toy: Toy) -> None:
        text = (
            self.STEP
            + """
extern "C" __global__ void reset(const int* x, int* y) {
  if (!is_active()) return;
  if (agent_id() == 0) y[env_id() * 2] = x[agent_index()];  // initial values stand there already
}
"""
        )
        x = Array("x", "int32", initial=[10, 20], on_reset="initial")
        world = toy(text, x, *self.ARRAYS[1:])
        world.reset()
        assert world["y"].tolist() == [[10, 2]] * 6
        trajectory(world, 2, ())
        assert world["x"].tolist() == [[10, 20], [12, 22]] * 3
        assert world["y"].tolist() == [[10, 4], [12, 4]] * 3

    def test_no_resets_at_all(self, toy: Toy) -> None:
        world = toy(self.STEP, *self.ARRAYS, resets=[])
        world.reset()
        trajectory(world, 2, ())
        assert world["x"].tolist() == [[10, 20], [12, 22]] * 3

    @pytest.mark.parametrize("initial", [np.zeros((6, 2)), [1, 2, 3]])
    def test_initial_values_that_differ_by_env_cannot_be_restored(self, toy: Toy, initial: Any) -> None:
        message = (
            r"array 'x': initial value of shape .*; one that resets restore is the same for all envs and .* \(2,\)"
        )
        with pytest.raises(DeclarationError, match=message):
            toy(self.STEP, Array("x", "int32", initial=initial), *self.ARRAYS[1:])

    def test_they_may_differ_where_they_are_not_restored(self, toy: Toy) -> None:
        z = Array("z", "int32", initial=np.arange(12).reshape(6, 2), on_reset="keep")
        world = toy(self.STEP, *self.ARRAYS[:2], z, self.ARRAYS[3])
        world.reset()
        assert world["z"].tolist() == np.arange(12).reshape(6, 2).tolist()
