"""Phases in PyTorch, alone and among kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.random_numbers import random_numbers
from tests.toys import agents
from tests.world.walks import Toy, trajectory
from warpworld import Array, Environment, Group, World, eager_phase
from warpworld.errors import StoreError
from warpworld.world.random import Random


class TestPythonPhases:
    """Phases in PyTorch, alone and among kernels."""

    LENGTH, GOAL = 5, 6.0

    @classmethod
    def walk(cls, arrays: Any, active: torch.Tensor) -> None:
        """A random walk: two draws a step, one of the agents' own and one of the env's."""
        own, shared = arrays.random.uniform(2), arrays.random.env_below(3)
        x = arrays["x"] + (own[..., 0] - own[..., 1]) * 4.0 + shared
        arrays["x"] = torch.where(active[:, None], x, arrays["x"])
        arrays["rewards"] = -x.abs()
        arrays["observations"] = torch.stack([x, x.roll(1, 1)], -1)
        arrays["terminated"] = x[:, 0].abs() > cls.GOAL
        arrays["truncated"] = arrays["timestep"] >= cls.LENGTH

    @staticmethod
    def place(arrays: Any, active: torch.Tensor) -> None:
        x = arrays.random.below(3).squeeze(-1).float()
        arrays["x"] = torch.where(active[:, None], x, arrays["x"])
        seen = torch.stack([x, x.roll(1, 1)], -1)
        arrays["observations"] = torch.where(active[:, None, None], seen, arrays["observations"])

    def world(self, toy: Toy, num_envs: int, seed: int = 11) -> World:
        phases: dict[str, Any] = {"phases": [self.walk], "resets": [self.place]}
        world = toy(None, Array("x", "float32"), groups=[agents(3, features=2)], num_envs=num_envs, seed=seed, **phases)
        world.request("final_observations")
        return world

    def test_an_env_in_pytorch_alone_steps_like_a_numpy_one(self, toy: Toy) -> None:
        num_envs = 7
        world = self.world(toy, num_envs)
        world.reset()
        clock, timestep = np.ones(num_envs, np.uint64), np.zeros(num_envs, np.int32)

        def draws(index: int) -> Random:
            return random_numbers(torch.from_numpy(clock), 3, 0, 11, index)

        x = draws(1).below(3)[..., 0].numpy().astype(np.float32)
        assert (world.data.numpy("x") == x).all()
        ends = 0
        for _ in range(30):
            world.step()
            clock, timestep = clock + np.uint64(1), timestep + 1
            random = draws(0)
            own, shared = random.uniform(2).numpy(), random.env_below(3).numpy()
            x = (x + (own[..., 0] - own[..., 1]) * np.float32(4.0)) + shared.astype(np.float32)
            terminated, truncated = np.abs(x[:, 0]) > self.GOAL, timestep >= self.LENGTH
            assert (world.data.numpy("rewards") == -np.abs(x)).all()
            assert (world.data.numpy("terminated") == terminated).all()
            assert (world.data.numpy("truncated") == truncated).all()
            ended = terminated | truncated
            final = np.stack([x, np.roll(x, 1, 1)], -1)
            assert (world.data.numpy("final_observations")[ended] == final[ended]).all()
            timestep[ended] = 0
            clock[ended] += np.uint64(1)
            x[ended] = draws(1).below(3)[..., 0].numpy()[ended]
            assert (world.data.numpy("x") == x).all()
            assert (world.data.numpy("observations") == np.stack([x, np.roll(x, 1, 1)], -1)).all()
            assert (world.data.numpy("timestep") == timestep).all()
            assert world["clock"].tolist() == clock.tolist()
            ends += int(ended.sum())
        assert ends > 20

    def test_it_does_not_depend_on_num_envs(self, toy: Toy) -> None:
        few, many = self.world(toy, 2), self.world(toy, 50)
        for world in (few, many):
            world.reset()
        for one, other in zip(trajectory(few, 20), trajectory(many, 20), strict=True):
            assert torch.equal(one, other[:, :2])

    def test_snapshots(self, toy: Toy) -> None:
        world = self.world(toy, 5)
        world.reset()
        kept = world.snapshot()
        expected = trajectory(world, 9)
        world.restore(kept)
        for one, other in zip(trajectory(world, 9), expected, strict=True):
            assert torch.equal(one, other)

    def test_among_kernels_in_order(self, toy: Toy) -> None:
        text = """
extern "C" __global__ void add(int* x) { if (is_active()) x[agent_index()] += 3; }
extern "C" __global__ void times(int* x, bool* truncated, const int* timestep) {
  if (!is_active()) return;
  x[agent_index()] *= 2;
  if (agent_id() == 0) truncated[env_id()] = timestep[env_id()] == 2 && env_id() < 2;
}
extern "C" __global__ void reset(int* x) { if (is_active()) x[agent_index()] += 100; }
"""
        seen: list[torch.Tensor] = []

        def negate(arrays: Any, active: torch.Tensor) -> None:
            assert active.all()
            arrays["x"] = -arrays["x"]

        def clear(arrays: Any, active: torch.Tensor) -> None:
            seen.append(active.clone())
            arrays["x"] = torch.where(active[:, None], torch.zeros_like(arrays["x"]), arrays["x"])

        def count(arrays: Any, active: torch.Tensor) -> None:
            arrays["x"][active] += 1

        phases: dict[str, Any] = {"phases": ["add", negate, "times"], "resets": [clear, "reset", count]}
        world = toy(text, Array("x", "int32"), **phases)
        world.add(Array("rollout", "int32", (2, 6, 2), per="world"))
        world.add(Array("row", "int32", per="world", initial=0))
        world.record("x", "rollout", "row")
        world.reset()
        assert world["x"].tolist() == [[101, 101]] * 6
        expected = 101
        for row in range(2):
            world["row"] = row
            world.step()
            expected = -(expected + 3) * 2
            assert world["rollout"][row].tolist() == [[expected] * 2] * 6
        assert world["x"].tolist() == [[101, 101]] * 2 + [[expected] * 2] * 4
        assert [mask.tolist() for mask in seen] == [[True] * 6, [False] * 6, [True] * 2 + [False] * 4]

    def test_without_a_source_no_reset_is_needed(self, toy: Toy) -> None:
        def grow(arrays: Any, active: torch.Tensor) -> None:
            arrays["x"] = arrays["x"] + 1
            arrays["truncated"] = arrays["timestep"] >= 2

        world = toy(None, Array("x", "int64", initial=4), phases=[grow])
        world.reset()
        assert [trajectory(world, 1, ("x",))[0].max().item() for _ in range(4)] == [5, 4, 5, 4]

    def test_methods_are_phases(self) -> None:
        class Grower(Environment):
            def groups(self) -> list[Group]:
                return [agents()]

            def phases(self) -> list[Any]:
                return [self.grow]

            @eager_phase
            def grow(self, arrays: Any, active: torch.Tensor) -> None:
                arrays["rewards"] = arrays["rewards"] + 1

        world = World(Grower(), 2, device="cpu")
        world.reset()
        world.step()
        assert (world["rewards"] == 1).all()

    def test_their_mistakes_are_told(self, toy: Toy) -> None:
        def wrong(arrays: Any, active: torch.Tensor) -> None:
            arrays["reward"] = 0.0

        world = toy(None, phases=[wrong])
        world.reset()
        with pytest.raises(StoreError, match=r"no array 'reward'. Did you mean 'rewards'"):
            world.step()
