"""The stand-in driver under the real PyCUDA: it must behave as a GPU's driver does, above all where something fails."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.stand_in.driver import Launch, StandIn
from tests.stand_in.test_worlds_on_stand_in import on_cpu_backend
from warpworld.environment import get_environment

pytestmark = pytest.mark.stand_in

KERNELS = """
extern "C" __global__ void add(float* x, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += by;
}
extern "C" __global__ void __launch_bounds__(16 * 2) small(float* x) { x[0] = 1.0f; }
extern "C" __global__ void nothing() {}
extern "C" __global__ void read_far(int* x) { x[0] = x[1ll << 40]; }
extern "C" __global__ void write_null(int* x) { *(volatile int*)nullptr = 1; }
extern "C" __global__ void read_odd(int* x) { x[0] = *(int*)((char*)x + threadIdx.x); }
extern "C" __global__ void fail_assert(int* x) { assert(threadIdx.x != 3 || blockIdx.x != 1); }
extern "C" __global__ void trap(int* x) { __trap(); }
extern "C" __global__ void forever(volatile int* x) { while (x[0] == 0) {} }
"""


def pack(pattern: str, *values: Any) -> bytes:
    from pycuda._pvt_struct import pack

    return bytes(pack(pattern, *values))


def launch(function: Any, parameters: bytes = b"", grid: int = 1, block: int = 1, stream: Any = None) -> None:
    function._launch_kernel((grid, 1, 1), (block, 1, 1), parameters, 0, stream)


# ---- launches -------------------------------------------------------------------------------------------------------
def test_a_kernel_changes_torch_s_memory_in_place(load: Callable[[str], Any]) -> None:
    x = torch.arange(100, dtype=torch.float32)
    launch(load(KERNELS).get_function("add"), pack("Pfi", x.data_ptr(), 0.5, 99), grid=4, block=32)
    expected = torch.arange(100, dtype=torch.float32) + 0.5
    expected[99] = 99.0  # beyond n
    assert torch.equal(x, expected)


def test_prepared_calls_and_calls_with_arrays(load: Callable[[str], Any]) -> None:
    x, add = torch.zeros(8), load(KERNELS).get_function("add")
    add.prepare("Pfi").prepared_call((1, 1), (8, 1, 1), x.data_ptr(), 2.0, 8)
    add(np.uintp(x.data_ptr()), np.float32(3.0), np.int32(4), block=(8, 1, 1), grid=(1, 1))
    assert x.tolist() == [5.0] * 4 + [2.0] * 4


def test_launches_are_recorded(stand_in: StandIn, drv: Any, load: Callable[[str], Any]) -> None:
    x, module, stream = torch.zeros(8), load(KERNELS), drv.Stream(1)
    parameters = pack("Pfi", x.data_ptr(), 1.0, 8)
    launch(module.get_function("nothing"))  # before: not in the list
    with stand_in.recording() as launches:
        launch(module.get_function("add"), parameters, grid=2, block=4, stream=stream)
        launch(module.get_function("nothing"), block=32)
    assert launches == [
        Launch("add", (2, 1, 1), (4, 1, 1), 0, stream.handle, parameters),
        Launch("nothing", (1, 1, 1), (32, 1, 1), 0, 0, b""),
    ]
    assert stream.handle != 0


@pytest.mark.parametrize(
    ("kernel", "parameters", "grid", "block", "words"),
    [
        ("small", 8, (1, 1, 1), (33, 1, 1), "too many resources"),  # __launch_bounds__
        ("add", 16, (1, 1, 1), (1025, 1, 1), "invalid argument"),
        ("add", 16, (0, 1, 1), (1, 1, 1), "invalid argument"),
        ("add", 12, (1, 1, 1), (1, 1, 1), "invalid argument"),  # n is missing
        ("add", 40, (1, 1, 1), (1, 1, 1), "invalid argument"),  # parameters of some other kernel
        ("add", 16, (1, 2, 1), (1, 1, 1), "operation not supported"),
    ],
)
def test_launches_that_are_refused(
    kernel: str, parameters: int, grid: tuple[int, ...], block: tuple[int, ...], words: str, drv: Any, load: Any
) -> None:
    x = torch.zeros(16)
    bytes_ = x.data_ptr().to_bytes(8, "little") + bytes(parameters - 8)
    with pytest.raises(drv.Error, match=words):
        load(KERNELS).get_function(kernel)._launch_kernel(grid, block, bytes_, 0, None)
    drv.Context.synchronize()  # a refused launch leaves the context alive
    assert not x.any()


# ---- faults ---------------------------------------------------------------------------------------------------------
FAULTS = [
    ("read_far", "illegal memory access"),
    ("write_null", "illegal memory access"),
    ("read_odd", "misaligned address"),
    ("fail_assert", "device-side assert"),
    ("trap", "unspecified launch failure"),
]


@pytest.mark.parametrize(("kernel", "words"), FAULTS)
def test_a_fault_is_heard_of_when_something_waits(kernel: str, words: str, drv: Any, load: Any) -> None:
    x = torch.zeros(16, dtype=torch.int32)
    launch(load(KERNELS).get_function(kernel), pack("P", x.data_ptr()), grid=2, block=4)  # raises nothing
    with pytest.raises(drv.Error, match=words):
        drv.Context.synchronize()
    with pytest.raises(drv.Error, match=words):  # and from then on
        drv.Context.synchronize()
    with pytest.raises(drv.Error, match=words):
        drv.mem_alloc(16)


def test_faults_are_caught_beside_the_cpu_backend_s_runtime(stand_in: StandIn, drv: Any, load: Any) -> None:
    """It catches the same signals, and may be loaded later."""
    x, module = torch.zeros(16, dtype=torch.int32), load(KERNELS)
    launch(module.get_function("nothing"))
    world = on_cpu_backend(get_environment("cartpole")(), 2)
    world.reset()
    for _ in range(3):
        launch(module.get_function("read_far"), pack("P", x.data_ptr()))
        with pytest.raises(drv.Error, match="illegal memory access"):
            drv.Context.synchronize()
        stand_in.reset()
        world.step()


def test_every_waiting_call_hears_of_a_fault(stand_in: StandIn, drv: Any, load: Any) -> None:
    x, module, stream, event = torch.zeros(16, dtype=torch.int32), load(KERNELS), drv.Stream(1), drv.Event()
    there = np.zeros(1, np.int32)
    waiting = {
        "stream": stream.synchronize,
        "event": event.synchronize,
        "copy": lambda: drv.memcpy_dtoh(there, x.data_ptr()),
        "launch": lambda: launch(module.get_function("nothing")),
    }
    for name, wait in waiting.items():
        launch(module.get_function("read_far"), pack("P", x.data_ptr()))
        with pytest.raises(drv.Error, match="illegal memory access"):
            wait()
        stand_in.reset()
        wait()  # alive again
        assert stand_in.fault == "", name


def test_calls_that_do_not_wait_do_not_hear_of_a_fault(drv: Any, load: Any) -> None:
    x = torch.zeros(16, dtype=torch.int32)
    launch(load(KERNELS).get_function("read_far"), pack("P", x.data_ptr()))
    drv.Event().record()
    drv.mem_alloc(16).free()
    with pytest.raises(drv.Error, match="illegal memory access"):
        drv.Context.synchronize()


def test_what_is_known_of_a_fault(stand_in: StandIn, load: Any, capfd: pytest.CaptureFixture[str]) -> None:
    x = torch.zeros(16, dtype=torch.int32)
    launch(load(KERNELS).get_function("fail_assert"), pack("P", x.data_ptr()), grid=2, block=5)
    line = KERNELS.splitlines().index(next(line for line in KERNELS.splitlines() if "fail_assert" in line)) + 1
    assert f"kernels.cu:{line}: fail_assert: block: [1,0,0], thread: [3,0,0] assertion failed" in stand_in.fault
    assert stand_in.fault in capfd.readouterr().err  # a GPU's driver prints it too


def test_a_kernel_without_end_is_ended(stand_in: StandIn, drv: Any, load: Any) -> None:
    stand_in.set_timeout(0.2)
    x = torch.zeros(1, dtype=torch.int32)
    launch(load(KERNELS).get_function("forever"), pack("P", x.data_ptr()), block=2)
    with pytest.raises(drv.Error, match="timed out and was terminated"):
        drv.Context.synchronize()


# ---- what it pretends to be -----------------------------------------------------------------------------------------
def test_the_machine_is_as_told(stand_in: StandIn, drv: Any) -> None:
    assert (drv.Device.count(), drv.Device(0).name(), drv.get_driver_version()) == (1, "stand-in", 13000)
    assert drv.Device(0).compute_capability() == (9, 0)
    stand_in.pretend(num_devices=3, driver_version=12040, compute_capability=(7, 5), memory_bytes=1 << 20)
    assert (drv.Device.count(), drv.get_driver_version()) == (3, 12040)
    assert drv.Device(2).compute_capability() == (7, 5)
    assert drv.Device(0).get_attribute(drv.device_attribute.COMPUTE_CAPABILITY_MINOR) == 5
    assert drv.Device(1).total_memory() == 1 << 20
    with pytest.raises(drv.Error, match="invalid device ordinal"):
        drv.Device(3)
    stand_in.pretend(num_devices=0)
    with pytest.raises(drv.Error, match="no CUDA-capable device"):
        drv.init()


def test_memory_is_counted_and_runs_out(stand_in: StandIn, drv: Any) -> None:
    gc.collect()  # blocks of other tests
    before = stand_in.allocated_bytes
    stand_in.pretend(memory_bytes=before + 10_000)
    block = drv.mem_alloc(6_000)
    assert int(block) % 512 == 0
    assert drv.mem_get_info() == (4_000, before + 10_000)
    with pytest.raises(drv.MemoryError):
        drv.mem_alloc(4_001)
    given, back = np.arange(1500, dtype=np.int32), np.zeros(1500, np.int32)
    drv.memcpy_htod(block, given)
    drv.memcpy_dtoh(back, block)
    assert np.array_equal(given, back)
    drv.memset_d32(block, 7, 1500)
    drv.memcpy_dtoh(back, block)
    assert (back == 7).all()
    block.free()
    assert stand_in.allocated_bytes == before


def test_errors_are_injected_at_the_call_that_was_named(stand_in: StandIn, drv: Any) -> None:
    stand_in.inject("cuStreamCreate", 2, call=3)
    drv.Stream(), drv.Stream()
    with pytest.raises(drv.MemoryError):
        drv.Stream()
    drv.Stream()  # once only
    assert stand_in.calls("cuStreamCreate") == 4
    stand_in.inject("cuCtxSynchronize", 719)
    for _ in range(2):  # a fault stays
        with pytest.raises(drv.LaunchError, match="unspecified launch failure"):
            drv.Context.synchronize()
    stand_in.reset()
    drv.Context.synchronize()


@pytest.mark.parametrize(
    ("code", "kind"), [(2, "MemoryError"), (702, "LaunchError"), (700, "LogicError"), (999, "Error")]
)
def test_pycuda_s_kinds_of_errors(stand_in: StandIn, drv: Any, code: int, kind: str) -> None:
    stand_in.inject("cuCtxSynchronize", code)
    with pytest.raises(drv.Error) as raised:
        drv.Context.synchronize()
    assert type(raised.value).__name__ == kind


def test_what_is_not_there_is_said(drv: Any) -> None:
    with pytest.raises(drv.Error, match="operation not supported"):
        drv.mem_alloc_pitch(16, 16, 4)


# ---- modules --------------------------------------------------------------------------------------------------------
def test_modules_that_do_not_load(stand_in: StandIn, drv: Any, load: Any) -> None:
    with pytest.raises(drv.Error, match="device kernel image is invalid"):
        drv.module_from_buffer(b"\x7fELF" + bytes(200))
    with pytest.raises(drv.Error, match="named symbol not found"):
        load(KERNELS).get_function("no_such_kernel")
    for arch in ("sm_80", "sm_120"):
        with pytest.raises(drv.Error, match="no kernel image is available"):
            load(KERNELS, arch)
    stand_in.pretend(compute_capability=(8, 6))
    assert load(KERNELS, "sm_80").get_function("nothing")


def test_modules_of_one_text_are_apart(load: Any) -> None:
    text = 'static __device__ int calls;\nextern "C" __global__ void count(int* x) { x[0] = ++calls; }\n'
    first, second = load(text), load(text)
    x = torch.zeros(1, dtype=torch.int32)
    for module, expected in [(first, 1), (first, 2), (second, 1), (first, 3)]:
        launch(module.get_function("count"), pack("P", x.data_ptr()))
        assert x.item() == expected


def test_many_modules_can_be_loaded(load: Any, drv: Any, tmp_path: Any) -> None:
    load(KERNELS)
    image = (tmp_path / "kernels.cubin").read_bytes()
    modules = [drv.module_from_buffer(image) for _ in range(300)]
    x = torch.zeros(4)
    for module in modules:
        launch(module.get_function("add"), pack("Pfi", x.data_ptr(), 1.0, 4), block=4)
    assert x.tolist() == [300.0] * 4


# ---- threads and processes ------------------------------------------------------------------------------------------
def test_a_thread_without_a_context_cannot_launch(drv: Any, load: Any) -> None:
    x, add, said = torch.zeros(4), load(KERNELS).get_function("add"), []

    def try_to() -> None:
        try:
            launch(add, pack("Pfi", x.data_ptr(), 1.0, 4), block=4)
        except drv.Error as error:
            said.append(str(error))

    thread = threading.Thread(target=try_to)
    thread.start()
    thread.join()
    assert len(said) == 1 and "invalid device context" in said[0]
    assert not x.any()


def test_a_forked_child_cannot_launch(drv: Any, load: Any) -> None:
    x, add = torch.zeros(4), load(KERNELS).get_function("add")
    launch(add, pack("Pfi", x.data_ptr(), 1.0, 4), block=4)
    child = os.fork()
    if child == 0:
        try:
            launch(add, pack("Pfi", x.data_ptr(), 1.0, 4), block=4)
        except drv.Error as error:
            os._exit(42 if "initialization error" in str(error) else 1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 42
