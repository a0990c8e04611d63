"""A program of the cuda backend: launches in order, on the stream that torch is on.

``$WARPWORLD_CUDA_SYNC=1`` waits for every launch, so that a fault names its kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from warpworld.errors import KernelError
from warpworld.managers import Program
from warpworld.managers.cuda.driver import Driver
from warpworld.managers.cuda.faults import explain_earlier_fault, explain_launch, waits_for_launches
from warpworld.managers.cuda.launches import Launch
from warpworld.managers.cuda.torch_gpu import Gpu

if TYPE_CHECKING:
    import torch


class CudaProgram:
    """Launches in order, on the stream that torch is on; any thread may call them, and threads take turns.

    Args:
        gpu: knows which stream that is.
        driver: of the same GPU.
        launches: in order.
        memory: the block that their arguments point into, which lives as long as the program.
    """

    def __init__(self, gpu: Gpu, driver: Driver, launches: Sequence[Launch], memory: torch.Tensor) -> None:
        self._gpu, self._driver, self._launches, self._memory = gpu, driver, launches, memory

    def frozen(self) -> Program:
        """A plain function, which Python calls faster than an object."""
        if waits_for_launches():
            return self._wait_for_each
        run = self._on_torch_s_stream()
        return run if self._driver.is_only else self._on_own_gpu(run)

    def _on_torch_s_stream(self) -> Program:
        launches = [(each.function._launch_kernel, each.grid, each.block, each.arguments) for each in self._launches]
        gpu, driver, own_stream = self._gpu, self._driver, self._driver.stream
        current_stream, drv_error = gpu.current_stream, driver.drv.Error
        # torch's default stream is the driver's, which PyCUDA calls None
        streams = {0: None, own_stream.handle: own_stream, driver.second.handle: driver.second}

        def launch_on(stream: Any) -> None:
            while True:  # a function that calls itself would keep itself, its kernels and its memory alive
                try:
                    for launch, grid, block, arguments in launches:
                        launch(grid, block, arguments, 0, stream)
                    return
                except drv_error as error:
                    if not driver.adopt_thread():
                        raise self._explained(error, arguments) from error
                # the thread had no context, so that the first launch was refused

        acquire, release = driver.turn.acquire, driver.turn.release

        def run() -> None:
            acquire()  # half as long as a `with` takes
            try:
                handle = current_stream()
                if handle in streams:
                    launch_on(streams[handle])
                else:
                    gpu.beside(own_stream.handle, lambda: launch_on(own_stream))
            finally:
                release()

        return run

    def _on_own_gpu(self, run: Program) -> Program:
        """``run`` where the calling thread may be on another GPU."""
        current_device, ordinal, active = self._gpu.current_device, self._driver.ordinal, self._driver.active

        def run_on_own_gpu() -> None:
            if current_device() == ordinal:
                run()
            else:
                with active():
                    run()

        return run_on_own_gpu

    def _explained(self, error: Exception, arguments: bytes, waited: bool = False) -> KernelError:
        """The message of an error at the launch with these arguments."""
        launch = next(each for each in self._launches if each.arguments is arguments)
        return explain_launch(error, launch.kernel, str(launch), waited)

    def _wait_for_each(self) -> None:
        """Nothing else is under way, so that any stream will do."""
        drv = self._driver.drv
        with self._driver.turn, self._driver.active():
            try:
                drv.Context.synchronize()
            except drv.Error as error:
                raise explain_earlier_fault(error) from error
            for each in self._launches:
                try:
                    each.function._launch_kernel(each.grid, each.block, each.arguments, 0, None)
                    drv.Context.synchronize()
                except drv.Error as error:
                    raise self._explained(error, each.arguments, waited=True) from error
