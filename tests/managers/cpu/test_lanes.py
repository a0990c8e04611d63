"""A thread that learns has a lane of its own: its launches do not wait for those of other threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.toys import IDLE, environment
from warpworld.environment import Array, Kernel
from warpworld.errors import KernelError
from warpworld.managers.cpu import LEARNING, STEPPING, learn_in_this_thread, set_busy
from warpworld.world import World

pytestmark = pytest.mark.cpu_backend

SOURCE = """#include <warpworld.cuh>
// Ends once `signal` has run; by itself it never does.
extern "C" __global__ void wait(const int* flag, int* found) {
  while (!*(const volatile int*)flag);
  found[env_id()] = 1;
}
extern "C" __global__ void signal(int* flag) { if (env_id() == 0) *(volatile int*)flag = 1; }
extern "C" __global__ void fail(int* flag) { if (env_id() == 0) *(volatile int*)(flag - flag) = 1; }
extern "C" __global__ void count(int* numbers) { numbers[env_id()] += env_id(); }
"""


def programs(folder: Path, num_envs: int, workers: int) -> tuple[World, dict[str, Callable[[], None]]]:
    """A world with a program of each kernel."""
    (folder / "idle.cu").write_text(IDLE)
    (folder / "lanes.cu").write_text(SOURCE)
    world = World(environment(folder / "idle.cu"), num_envs, "cpu", num_workers=workers)
    world.add(Array("flag", "int32", (1,), "world", initial=0))
    for name in ("found", "numbers"):
        world.add(Array(name, "int32", (num_envs,), "world", initial=0))
    kernels = world.kernels(folder / "lanes.cu", {"NUM_AGENTS": 1})
    names = ("wait", "signal", "fail", "count")
    kernels.build([Kernel(name, 1, own_env_only=False) for name in names])
    world.reset()
    return world, {name: world.program([kernels.step(name, 0, own_env_only=False)]) for name in names}


def in_learner(*runs: Callable[[], None]) -> threading.Thread:
    """A thread that runs programs in its own lane."""

    def work() -> None:
        learn_in_this_thread()
        for run in runs:
            run()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.mark.parametrize("workers", [1, 2])
def test_a_launch_ends_while_one_of_the_other_lane_runs(workers: int, tmp_path: Path) -> None:
    world, run = programs(tmp_path, 500, workers)
    learner = in_learner(run["wait"])
    run["signal"]()
    learner.join(60)
    assert not learner.is_alive()
    assert world["found"].all()


def test_a_fault_ends_the_launch_of_its_own_lane_alone(tmp_path: Path) -> None:
    world, run = programs(tmp_path, 500, 2)
    caught = []

    def failing() -> None:
        with pytest.raises(KernelError, match="kernel 'fail', env 0") as error:
            run["fail"]()
        caught.append(error)
        run["signal"]()

    learner = in_learner(failing)
    run["wait"]()
    learner.join(60)
    assert len(caught) == 1
    assert world["found"].all()


@pytest.mark.parametrize("busy", [False, True], ids=["cores of its own", "cores of both"])
def test_workers_serve_both_lanes(busy: bool, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (world, run), (other, beside) = programs(tmp_path, 3000, 2), programs(tmp_path / "other", 3000, 2)
    try:
        for lane in (STEPPING, LEARNING):
            set_busy(lane, busy)
        learner = in_learner(*[beside["count"]] * 300)
        for _ in range(300):
            run["count"]()
        learner.join(60)
    finally:
        for lane in (STEPPING, LEARNING):
            set_busy(lane, False)
    for each in (world, other):
        assert torch.equal(each["numbers"], 300 * torch.arange(3000, dtype=torch.int32))
