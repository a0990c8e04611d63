"""The GPU as torch has it: memory, streams and graphs. The cuda backend asks nothing else of torch."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from warpworld.errors import DeviceError
from warpworld.managers.cuda.faults import first_line

if TYPE_CHECKING:
    import torch


class Gpu(Protocol):
    """Memory and streams of the device that kernels run on; tests put host memory in their place.

    A stream is named by the driver's handle; 0 is the default one. Streams work at the same time, each in order, but
    where one follows a mark of another.

    Attributes:
        ordinal: the GPU's number, among those that the process sees.
        device: what torch calls it.
    """

    ordinal: int
    device: torch.device

    def allocate(self, nbytes: int) -> torch.Tensor:
        """A zeroed block of bytes, aligned to 256."""

    def free_memory(self) -> int:
        """Bytes that could be allocated."""

    def random_state(self) -> torch.Tensor:
        """State of torch's own generator of the device."""

    def set_random_state(self, state: torch.Tensor) -> None:
        """Write back what ``random_state`` returned."""

    def current_device(self) -> int:
        """The number of the GPU that the calling thread is on; 0 where it has used none yet."""

    def current_stream(self) -> int:
        """The stream that work is to go to now."""

    def within(self, stream: int, run: Callable[[], None]) -> None:
        """Call ``run`` with ``stream`` as the current one, in no order with the one before."""

    def mark(self, stream: int) -> Any:
        """An event behind all work that a stream has been given."""

    def follow(self, stream: int, mark: Any) -> None:
        """Let what a stream is given from now on wait for a mark."""

    def wait(self) -> None:
        """Wait until all streams have done their work."""

    def capture(self, stream: int, run: Callable[[], None]) -> Callable[[], None]:
        """A function that repeats the work which ``run`` puts on ``stream``; nothing is run yet. It holds ``run``."""

    # ---- order between two streams -----------------------------------------------------------------------------------
    def beside(self, stream: int, launch: Callable[[], None]) -> None:
        """Call ``launch``, which launches on ``stream``, after all work of the current stream and before what comes."""
        current = self.current_stream()
        self.follow(stream, self.mark(current))
        launch()
        self.follow(current, self.mark(stream))

    def on_stream(self, stream: int, run: Callable[[], None]) -> None:
        """Call ``run`` with ``stream`` as the current one, after all work of that before and before what comes."""
        self.beside(stream, lambda: self.within(stream, run))

    def branch(self, stream: int) -> Callable[[Callable[[], None]], None]:
        """Let ``stream`` follow all that the current one has been given so far.

        Returns:
            A function that calls work with ``stream`` as the current one. What the current stream is given in between
            may run at the same time; what it is given afterwards follows the work.
        """
        self.follow(stream, self.mark(self.current_stream()))

        def run(work: Callable[[], None]) -> None:
            self.within(stream, work)
            self.follow(self.current_stream(), self.mark(stream))

        return run


class TorchGpu(Gpu):
    """The GPU that torch calls the current one."""

    def __init__(self) -> None:
        import torch

        if torch.version.cuda is None:
            raise DeviceError(
                f"torch {torch.__version__} is built without CUDA; install the build for CUDA: pip install torch"
            )
        try:
            self.ordinal = torch.cuda.current_device()
            self.device = torch.device("cuda", self.ordinal)
            torch.zeros(1, device=self.device)  # makes the context that PyCUDA joins
        except (RuntimeError, AssertionError, torch.cuda.DeferredCudaCallError) as error:
            raise DeviceError(f"torch {torch.__version__} finds no GPU that it can use: {first_line(error)}") from error
        self._failed: list[torch.cuda.CUDAGraph] = []  # see _forget
        self._current_stream = functools.partial(torch._C._cuda_getCurrentRawStream, self.ordinal)
        self._current_device = torch._C._cuda_getDevice

    def allocate(self, nbytes: int) -> torch.Tensor:
        """A zeroed block of bytes, aligned to 512."""
        import torch

        return torch.zeros(nbytes, dtype=torch.uint8, device=self.device)

    def free_memory(self) -> int:
        """Bytes that could be allocated."""
        import torch

        kept = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return torch.cuda.mem_get_info(self.device)[0] + kept

    def random_state(self) -> torch.Tensor:
        """State of torch's own generator of the device."""
        import torch

        return torch.cuda.get_rng_state(self.device)

    def set_random_state(self, state: torch.Tensor) -> None:
        """Write back what ``random_state`` returned."""
        import torch

        torch.cuda.set_rng_state(state, self.device)

    def current_device(self) -> int:
        """The number of the GPU that torch calls the calling thread's current one."""
        return self._current_device()

    def current_stream(self) -> int:
        """The driver's handle of torch's current stream; 0 is the default one."""
        return self._current_stream()

    def within(self, stream: int, run: Callable[[], None]) -> None:
        """Call ``run`` with ``stream`` as torch's current one."""
        import torch

        with torch.cuda.stream(self._stream(stream)):
            run()

    def mark(self, stream: int) -> torch.cuda.Event:
        """An event of torch's."""
        return self._stream(stream).record_event()

    def follow(self, stream: int, mark: torch.cuda.Event) -> None:
        """Let a stream wait for an event."""
        self._stream(stream).wait_event(mark)

    def wait(self) -> None:
        """Wait until all streams have done their work."""
        import torch

        torch.cuda.synchronize(self.device)

    def _stream(self, handle: int) -> torch.cuda.Stream:
        """Torch's object for a stream of the driver's."""
        import torch

        if handle:
            return torch.cuda.ExternalStream(handle, device=self.device)
        return torch.cuda.default_stream(self.device)

    def capture(self, stream: int, run: Callable[[], None]) -> Callable[[], None]:
        """A CUDA graph of the work which ``run`` puts on ``stream``."""
        import torch

        ours, current = torch.cuda.ExternalStream(stream, device=self.device), torch.cuda.current_stream(self.device)
        torch.cuda.synchronize(self.device)
        graph, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()
        failure: Exception | None = None
        collects = gc.isenabled()
        gc.disable()  # what is freed while a graph is captured spoils it
        try:
            # thread_local: other threads, such as NCCL's, may ask for events
            with torch.cuda.graph(graph, pool, ours, "thread_local"):
                try:
                    run()
                except Exception as error:
                    failure = error
        except RuntimeError as error:  # a spoiled capture does not end well, nor give the stream back
            torch.cuda.set_stream(current)
            failure = failure or error
            self._forget(graph, pool, ours)
        finally:
            if collects:
                gc.enable()
        if failure is not None:
            raise failure
        graph.run = run  # type: ignore[attr-defined]  # holds the memory and kernels that the graph knows by address
        return graph.replay

    def _forget(self, graph: torch.cuda.CUDAGraph, pool: Any, stream: torch.cuda.ExternalStream) -> None:
        """Undo what torch leaves of a capture that did not end well, so that the process can be used on.

        Until then draws of the device's generator raise "Offset increment outside graph capture encountered
        unexpectedly", and the allocator takes the capture for one that is still under way.

        Args:
            graph: what was to hold the work.
            pool: its memory.
            stream: the one that was captured, which is out of it.
        """
        import torch

        graph.reset()  # in newer versions of torch this is enough for the generator
        self._failed.append(graph)  # allocators may ask it again whether it is being captured
        for undo in (torch._C._cuda_endAllocateToPool, torch._C._cuda_releasePool):
            with contextlib.suppress(RuntimeError):  # the capture came so far as to do it itself
                undo(self.ordinal, pool)
        number = torch.zeros(1, device=self.device)
        # A capture that ends well takes the generator out of the state that the other one left it in.
        with torch.cuda.graph(torch.cuda.CUDAGraph(), stream=stream, capture_error_mode="thread_local"):
            number.add_(1)
