"""Kernels of a world: their threads, their reach, their mistakes, and those of other files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.random_numbers import random_numbers
from tests.toys import environment
from tests.world.walks import Toy
from warpworld import Array, Kernel, World
from warpworld.errors import BindError, DeclarationError


class TestKernels:
    def test_threads_per_env(self, toy: Toy) -> None:
        text = """
extern "C" __global__ void step(int* lanes) {
  if (!is_active()) return;
  lanes[env_id() * 70 + lane()] += num_lanes() * 1000 + lane();
}
extern "C" __global__ void draw(int* pixels, float* sums) {
  if (!is_active()) return;
  ENV_SHARED(int, part, 70);
  part[lane()] = lane() + env_id();
  sync_env();  // orders the write of part before the sum
  for (int i = lane(); i < 200; i += num_lanes()) pixels[env_id() * 200 + i] = i * num_lanes();
  if (lane() != num_lanes() - 1) return;
  int sum = 0;
  for (int i = 0; i < num_lanes(); i++) sum += part[i];
  sums[env_id()] = (float)sum;
}
extern "C" __global__ void reset() {}
"""
        arrays = [
            Array("lanes", "int32", (70,), per="env", initial=0),
            Array("pixels", "int32", (200,), per="env"),
            Array("sums", "float32", per="env"),
        ]
        world = toy(text, *arrays, phases=["step", Kernel("draw", threads_per_env=70)])
        world.reset()
        world.step()
        assert world["lanes"][:, :3].tolist() == [[2000, 2001, 0]] * 6
        assert world["pixels"].tolist() == [[i * 70 for i in range(200)]] * 6
        assert world["sums"].tolist() == [70 * 69 / 2 + 70 * env for env in range(6)]
        message = "kernel 'draw' has 70 threads_per_env; only kernels of one thread per agent can share a warp"
        with pytest.raises(BindError, match=message):
            toy(text, *arrays, phases=["step", Kernel("draw", threads_per_env=70)], envs_per_warp=4)

    @pytest.mark.parametrize("num_workers", [1, 2])
    def test_one_that_touches_other_envs(self, toy: Toy, num_workers: int) -> None:
        text = """
extern "C" __global__ void step(int* x) {
  if (!is_active()) return;
  x[agent_index()] += env_id();
}
extern "C" __global__ void spread(const int* x, int* y, int num_envs) {
  if (!is_active()) return;
  const int left = (env_id() + num_envs - 1) % num_envs, right = (env_id() + 1) % num_envs;
  y[agent_index()] = x[left * NUM_AGENTS + agent_id()] + x[right * NUM_AGENTS + agent_id()];
}
extern "C" __global__ void take(int* x, const int* y) {
  if (!is_active()) return;
  x[agent_index()] = y[agent_index()] % 1000;
}
extern "C" __global__ void reset() {}
"""
        arrays = [Array("x", "int32", initial=1), Array("y", "int32")]
        phases = ["step", Kernel("spread", own_env_only=False), "take"]
        world = toy(text, *arrays, phases=phases, num_envs=3000, num_workers=num_workers)
        world.reset()
        x = np.ones((3000, 2), np.int32)
        for _ in range(5):
            world.step()
            x += np.arange(3000, dtype=np.int32)[:, None]
            x = (np.roll(x, 1, 0) + np.roll(x, -1, 0)) % 1000
            assert (world.data.numpy("x") == x).all()

    def test_arguments_in_order(self, toy: Toy) -> None:
        """Two kernels of one function's text, each with arrays and numbers of its own."""
        text = """
extern "C" __global__ void step(int* a, int* b, int most) {
  if (!is_active()) return;
  a[agent_index()] += most;
  b[agent_index()] -= most;
}
extern "C" __global__ void reset() {}
"""
        arrays = [Array(name, "int32", initial=0) for name in "xyz"]
        phases = [Kernel("step", arguments=("x", "y", 3)), Kernel("step", arguments=("y", "z", "goal"))]
        world = toy(text, *arrays, phases=phases, params={"goal": 50})
        world.reset()
        world.step()
        assert [world[name].unique().tolist() for name in "xyz"] == [[3], [47], [-50]]

    def test_world_arrays_are_read_by_all(self, toy: Toy) -> None:
        text = """
extern "C" __global__ void step(const float* heights, float* observations) {
  if (!is_active()) return;
  observations[agent_index()] = heights[agent_index() % 4];
}
extern "C" __global__ void reset() {}
"""
        world = toy(text, Array("heights", "float32", (4,), per="world", initial=[0, 1, 4, 9], read_only=True))
        world.reset()
        world.step()
        assert world["observations"].flatten().tolist() == [0, 1, 4, 9] * 3

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "__global__ void step(float* y) {}\n__global__ void reset() {}",
                "kernel 'step', parameter `float\\* y`: no ar",
            ),
            ("__global__ void step() {}\n__global__ void reset(int goals) {}", "`int goals`: .* Did you mean 'goal'"),
            (
                "__global__ void step(int* actions) {}\n__global__ void reset() {}",
                "read-only for kernels: write `const int",
            ),
            (
                "__global__ void stop() {}\n__global__ void reset() {}",
                "no `__global__` function 'step'. Did you mean 'stop'",
            ),
            ("__global__ void step() {}", "no `__global__` function 'reset'. Kernels in the file: step"),
        ],
    )
    def test_bad_signatures_are_told_when_the_world_is_made(self, toy: Toy, text: str, message: str) -> None:
        with pytest.raises(BindError, match=message):
            toy(text, params={"goal": 3})

    def test_no_source_file(self, toy: Toy, tmp_path: Path) -> None:
        with pytest.raises(
            DeclarationError, match=r"Toy: phases\(\) or resets\(\) name kernels, but the class has no `sou"
        ):
            toy(None)
        with pytest.raises(BindError, match=r"cannot read the kernel file .*/missing.cu"):
            World(environment(tmp_path / "missing.cu"), 1, device="cpu")

    @pytest.mark.parametrize("entry", [3, None, ("step",), Array])
    def test_phases_are_names_or_callables(self, toy: Toy, entry: Any) -> None:
        if callable(entry):
            return
        with pytest.raises(
            DeclarationError, match=rf"phase {re.escape(repr(entry))}, expected a kernel's name, a Kernel"
        ):
            toy(None, phases=[entry])

    def test_of_other_files(self, walk: Toy, write: Callable[..., Path]) -> None:
        text = """
extern "C" __global__ void act(int* chosen, int most) {
  if (!is_active()) return;
  chosen[agent_index()] = (int)Random::agent().below((uint32_t)most) + EXTRA;
}
"""
        world = walk()
        aliases, writable = {"chosen": "actions"}, {"actions"}
        functions = world.kernels(write(text), {"EXTRA": 100}, {"most": 50}, aliases, writable)
        functions.build([])
        index = world.kernel_index()
        world.reset()
        act = world.program([functions.step("act", index)])
        act()
        drawn = random_numbers(world["clock"], 2, 0, 0, index).below(50)
        assert world["actions"].tolist() == (drawn + 100).tolist()
        with pytest.raises(BindError, match="the array is read-only for kernels"):
            world.kernels(write(text), {"EXTRA": 1}, {"most": 5}, aliases).arguments("act")

    def test_that_touch_other_envs_wait_for_all(self, walk: Toy, write: Callable[..., Path]) -> None:
        """Each env writes an action; then each env adds up those of all; then each overwrites its own."""
        text = """
extern "C" __global__ void write(int* chosen) { chosen[agent_index()] = env_id() + 1; }
extern "C" __global__ void add_up(const int* chosen, float* sums, int num_envs) {
  float sum = 0.0f;
  for (int i = 0; i < num_envs * NUM_AGENTS; ++i) sum += (float)chosen[i];
  sums[agent_index()] = sum;
}
extern "C" __global__ void forget(int* chosen) { chosen[agent_index()] = 0; }
"""
        world = walk(num_envs=300)  # more than a worker takes at once
        aliases, writable = {"chosen": "actions", "sums": "rewards"}, {"actions"}
        functions = world.kernels(write(text), {}, None, aliases, writable)
        functions.build([Kernel(name, own_env_only=False) for name in ("write", "add_up", "forget")])
        world.reset()
        world.program([functions.step(name, 0, own_env_only=False) for name in ("write", "add_up", "forget")])()
        envs, agents = world["rewards"].shape
        assert envs > 1 and world["rewards"].eq(agents * envs * (envs + 1) / 2).all()
        assert not world["actions"].any()

    def test_their_random_numbers_are_their_own(self, walk: Toy) -> None:
        world = walk()  # a step and a reset: 14 of 16 numbers are left
        given = [world.kernel_index() for _ in range(14)]
        assert len(set(given) | {0, 1}) == 16 and max(given) < 16
        with pytest.raises(DeclarationError, match="2 phases and resets and 15 other kernels: at most 16"):
            world.kernel_index()
