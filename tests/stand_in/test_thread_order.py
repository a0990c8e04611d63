"""Perturbed launches: blocks and threads run in another order, which a seed chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.stand_in.conftest import Load
from tests.stand_in.driver import StandIn
from tests.stand_in.test_driver import launch, pack

pytestmark = pytest.mark.stand_in

KERNELS = """
__device__ int num_written;

extern "C" __global__ void write_blocks(int* out) { out[num_written++] = blockIdx.x; }

extern "C" __global__ void write_threads(int* out) { out[num_written++] = threadIdx.x; }

extern "C" __global__ void write_after_a_barrier(int* out) {
  __syncthreads();
  out[num_written++] = threadIdx.x;
}

// Each thread writes itself before and after a barrier of its warp.
extern "C" __global__ void write_around_a_barrier(int* out) {
  out[num_written++] = threadIdx.x;
  __syncwarp();
  out[num_written++] = -1 - (int)threadIdx.x;
}

// Loses additions if threads alternate.
extern "C" __global__ void count(int* out) {
  const int before = out[0];
  atomicAdd(out + 1, 1);
  out[0] = before + 1;
}

// The last thread faults, while others of its warp wait.
extern "C" __global__ void trap_in_third_warp(int* out) {
  if (threadIdx.x == 95) __trap();
  if (threadIdx.x >= 64) __syncwarp(1u << threadIdx.x % 32);
}

// Each thread reads its neighbour's value, and nothing orders the reading after the writing.
extern "C" __global__ void lack_a_barrier(int* out) {
  __shared__ int values[50];
  values[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = threadIdx.x ? values[threadIdx.x - 1] : -1;
}

// Lanes meet in pairs, and in other pairs next: what they offered first must be there until both have read it.
extern "C" __global__ void exchange(int* out) {
  const int lane = threadIdx.x % 32;
  int sum = threadIdx.x;
  for (int far = 1; far < 32; far *= 2) {
    const unsigned pair = 1u << lane | 1u << (lane ^ far);
    sum += __shfl_xor_sync(pair, sum, far);
  }
  out[threadIdx.x] = sum;
}
"""


@pytest.mark.parametrize(
    ("name", "grid", "block"), [("write_blocks", 50, 1), ("write_threads", 1, 50), ("write_after_a_barrier", 1, 50)]
)
def test_blocks_and_threads_run_in_an_order_of_the_seed(
    name: str, grid: int, block: int, stand_in: StandIn, load_anew: Load
) -> None:
    orders = []
    for seed in (0, 1, 1, 2):
        stand_in.perturb(seed)
        orders.append(written(load_anew, name, 50, grid, block))
    unperturbed, first, again, second = orders
    assert unperturbed == sorted(first) == sorted(second) == list(range(50))
    assert first == again
    assert unperturbed != first != second != unperturbed


def test_a_warp_may_be_ahead_of_another(stand_in: StandIn, load_anew: Load) -> None:
    orders = []
    for seed in range(9):
        stand_in.perturb(seed)
        orders.append(written(load_anew, "write_around_a_barrier", 128, 1, 64))
    unperturbed, *perturbed = map(is_warp_ahead, orders)
    assert not unperturbed
    assert set(perturbed) == {False, True}


def is_warp_ahead(order: list[int]) -> bool:
    """Whether a thread is past its barrier before another one, of the other warp, has begun."""
    first_behind = next(i for i, thread in enumerate(order) if thread < 0)
    return any(thread >= 0 for thread in order[first_behind:])


def test_a_thread_is_interrupted_at_atomic_operations(stand_in: StandIn, load_anew: Load) -> None:
    assert written(load_anew, "count", 2, 1, 64) == [64, 64]
    stand_in.perturb(1)
    counted, atomically_counted = written(load_anew, "count", 2, 1, 64)
    assert counted < 64
    assert atomically_counted == 64


def test_a_missing_barrier_shows(stand_in: StandIn, load_anew: Load) -> None:
    assert written(load_anew, "lack_a_barrier", 50, 1, 50) == list(range(-1, 49))
    stand_in.perturb(1)
    assert written(load_anew, "lack_a_barrier", 50, 1, 50) != list(range(-1, 49))


def test_threads_of_a_faulted_launch_are_forgotten(stand_in: StandIn, load_anew: Load, drv: Any) -> None:
    for seed in range(1, 9):
        stand_in.perturb(seed)
        written(load_anew, "trap_in_third_warp", 1, 1, 96)
        with pytest.raises(drv.Error, match="unspecified launch failure"):
            drv.Context.synchronize()
        stand_in.reset()
        stand_in.perturb(seed)
        assert sorted(written(load_anew, "write_threads", 32, 1, 32)) == list(range(32))
        drv.Context.synchronize()


def test_lanes_exchange_the_same_values_in_any_order(stand_in: StandIn, load_anew: Load) -> None:
    sums = np.arange(96).reshape(3, 32).sum(1).repeat(32).tolist()
    for seed in range(5):
        stand_in.perturb(seed)
        assert written(load_anew, "exchange", 96, 1, 96) == sums


def written(load_anew: Load, name: str, count: int, grid: int, block: int) -> list[int]:
    """What a kernel writes, of a module that is loaded anew."""
    out = np.zeros(count, np.int32)
    launch(load_anew(KERNELS).get_function(name), pack("P", out.ctypes.data), grid=grid, block=block)
    values: list[int] = out.tolist()
    return values
