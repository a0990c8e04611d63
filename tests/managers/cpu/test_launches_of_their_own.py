"""A kernel that touches other envs' parts is through before another step of its program begins, for all envs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.toys import IDLE, environment
from warpworld.environment import Array, Kernel
from warpworld.world import World

pytestmark = pytest.mark.cpu_backend

SOURCE = """#include <warpworld.cuh>
extern "C" __global__ void write(int* numbers, int num_envs) { numbers[num_envs - 1 - env_id()] = 2 * env_id() + 1; }
extern "C" __global__ void read(const int* numbers, int* found) { found[env_id()] = numbers[env_id()]; }
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_kernels_of_one_program(workers: int, tmp_path: Path) -> None:
    (tmp_path / "idle.cu").write_text(IDLE)
    (tmp_path / "pair.cu").write_text(SOURCE)
    num_envs = 3000  # so many that they are stepped in several shares
    world = World(environment(tmp_path / "idle.cu"), num_envs, "cpu", num_workers=workers)
    for name in ("numbers", "found"):
        world.add(Array(name, "int32", (num_envs,), "world", initial=0))
    kernels = world.kernels(tmp_path / "pair.cu", {"NUM_AGENTS": 1})
    kernels.build([Kernel(name, 1, own_env_only=False) for name in ("write", "read")])
    world.reset()
    program = world.program([kernels.step(name, 0, own_env_only=False) for name in ("write", "read")])
    program()
    assert torch.equal(world["found"], 2 * torch.arange(num_envs - 1, -1, -1, dtype=torch.int32) + 1)
