"""What stands in for torch's GPU under `--stand-in`: host memory, and streams of which one may lag."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable

import torch

from tests.stand_in.as_cuda import CUDA, OnGpu, labelled
from tests.stand_in.gpu_random import RANDOM
from tests.stand_in.recorded_graph import RecordedGraph
from tests.stand_in.streams import STREAMS, Mark
from warpworld.managers.cuda.torch_gpu import Gpu


class HostGpu(Gpu):
    """Memory of the host as the memory of a GPU; see Gpu in torch_gpu.py.

    Args:
        as_cuda: whether torch is to take it for a GPU's.
        ordinal: the GPU's number.
    """

    def __init__(self, as_cuda: bool = False, ordinal: int = 0) -> None:
        self.ordinal = ordinal
        self.device = CUDA if as_cuda else torch.device("cpu")

    def allocate(self, nbytes: int) -> torch.Tensor:
        """A zeroed block of bytes, in pages of its own: a kernel that touches it once it is freed faults."""
        try:
            pages = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise MemoryError(f"{nbytes} bytes: {error}") from error
        block = torch.frombuffer(pages, dtype=torch.uint8)
        return labelled(block, OnGpu) if self.device == CUDA else block

    def free_memory(self) -> int:
        """Bytes that the driver calls free."""
        import pycuda.driver

        return int(pycuda.driver.mem_get_info()[0])

    def random_state(self) -> torch.Tensor:
        """State of torch's generator."""
        return RANDOM.state.clone() if self.device == CUDA else torch.get_rng_state()

    def set_random_state(self, state: torch.Tensor) -> None:
        """Write back what ``random_state`` returned."""
        if self.device == CUDA:
            RANDOM.state = state.clone()
        else:
            torch.set_rng_state(state)

    def current_device(self) -> int:
        """The GPU of the calling thread's context; 0 where it has none, as CUDA's runtime has it."""
        number = ctypes.c_int(0)
        ctypes.CDLL("libcuda.so.1").cuCtxGetDevice(ctypes.byref(number))
        return number.value

    def current_stream(self) -> int:
        """The handle of the stream that ``within`` has made the current one; 0 at first."""
        return STREAMS.current

    def within(self, stream: int, run: Callable[[], None]) -> None:
        """Call ``run`` with ``stream`` as the current one."""
        with STREAMS.on(stream):
            run()

    def mark(self, stream: int) -> Mark:
        """The work that a stream has been given so far."""
        return STREAMS.mark(stream)

    def follow(self, stream: int, mark: Mark) -> None:
        """Let what a stream is given from now on come after a mark."""
        STREAMS.follow(stream, mark)

    def wait(self) -> None:
        """Do all work that lags."""
        STREAMS.catch_up()

    def capture(self, stream: int, run: Callable[[], None]) -> Callable[[], None]:
        """A function that repeats the work which ``run`` puts on ``stream``; see RecordedGraph."""
        STREAMS.catch_up()
        if self.device != CUDA:
            return self._recorded(stream, run).replay  # a method, by which tests know a graph
        before = RANDOM.state
        with RANDOM.drawing():
            graph = self._recorded(stream, run)
        RANDOM.state = before  # nothing was drawn yet

        def replay() -> None:
            with RANDOM.drawing():
                graph.replay()

        return lambda: STREAMS.do(replay)

    def _recorded(self, stream: int, run: Callable[[], None]) -> RecordedGraph:
        with RecordedGraph(stream, run) as graph:
            self.within(stream, run)
        return graph
