"""Perturbed launches: memory that a GPU leaves undefined holds values that a seed chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.stand_in.conftest import Load
from tests.stand_in.driver import StandIn
from tests.stand_in.test_driver import launch, pack

pytestmark = pytest.mark.stand_in

KERNELS = """
template <class T> __device__ T* shared_values() {
  __shared__ T values[256];
  return values;
}

// What a block finds in its shared memory, which it then writes.
extern "C" __global__ void read_shared(int* out) {
  __shared__ int values[256];
  volatile int* const found[] = {values, shared_values<int>()};
  for (int i = 0; i < 2; i++) {
    out[(blockIdx.x * 2 + i) * 256 + threadIdx.x] = found[i][threadIdx.x];
    found[i][threadIdx.x] = 7;
  }
}

extern "C" __global__ void read_local(int* out) {
  volatile int values[256];
  if (out == nullptr) values[0] = 0;
  for (int i = 0; i < 256; i++) out[i] = values[i];
}

// Static memory is defined: it is zero at first, and kept.
static __device__ int counts[256];
extern "C" __global__ void read_static(int* out) { out[threadIdx.x] = counts[threadIdx.x]++; }
"""


def read_shared(load_anew: Load, drv: Any) -> np.ndarray:
    out = np.zeros((2, 2, 256), np.int32)
    launch(load_anew(KERNELS).get_function("read_shared"), pack("P", out.ctypes.data), grid=2, block=256)
    return out


def read_local(load_anew: Load, drv: Any) -> np.ndarray:
    out = np.zeros((1, 256), np.int32)
    launch(load_anew(KERNELS).get_function("read_local"), pack("P", out.ctypes.data))
    return out


def read_allocated(load_anew: Load, drv: Any) -> np.ndarray:
    out = np.zeros((1, 256), np.int32)
    drv.memcpy_dtoh(out, drv.mem_alloc(out.nbytes))
    return out


@pytest.mark.parametrize("read", [read_shared, read_local, read_allocated], ids=lambda read: read.__name__)
def test_undefined_memory_holds_what_the_seed_chooses(
    read: Callable[[Load, Any], np.ndarray], stand_in: StandIn, load_anew: Load, drv: Any
) -> None:
    found = []
    for seed in (1, 1, 2):
        stand_in.perturb(seed)
        found.append(read(load_anew, drv))
    first, again, second = found
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)
    for values in first.reshape(-1, 256):
        assert len(set(values.tolist())) > 32
        assert (values != 0).mean() > 0.9
        assert np.isnan(values.view(np.float32)).any()
        assert (values < 0).any() and (values > 255).any()


def test_shared_memory_is_kept_where_nothing_is_perturbed(load_anew: Load, drv: Any) -> None:
    first, second = read_shared(load_anew, drv)
    assert not first.any()
    assert (second == 7).all()


def test_static_memory_is_defined(stand_in: StandIn, load_anew: Load) -> None:
    stand_in.perturb(1)
    read, out = load_anew(KERNELS).get_function("read_static"), np.zeros(256, np.int32)
    for expected in (0, 1):
        launch(read, pack("P", out.ctypes.data), block=256)
        assert (out == expected).all()
