"""A CUDA graph on host memory: what is launched and what torch computes is kept once, and repeated without Python.

While it is recorded nothing changes, as far as anybody can see: torch computes, since what comes next needs its shapes,
and every tensor that an operation wrote is put back in the end; kernels on the captured stream are kept and not run.
What reads a tensor's contents back to Python is refused, and kernels on another stream run at once and are missing from
the graph, as on a GPU.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# what gives memory, and asks a device for nothing
OF_MEMORY = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_unsafe_view")
READS = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "item", "equal", "is_nonzero")


class Recording(TorchDispatchMode):
    """Records what torch computes while it is entered.

    Attributes:
        work: kernels and operations, in order.
        of_memory: how many of them give memory alone.
    """

    def __init__(self) -> None:
        super().__init__()
        self.work: list[Callable[[], None]] = []
        self.of_memory = 0
        self._overwritten: list[tuple[torch.Tensor, torch.Tensor]] = []

    def undo(self) -> None:
        """Write back what was there before, as far as operations have written."""
        for tensor, before in reversed(self._overwritten):
            tensor.data.copy_(before)
        self._overwritten = []

    def reads(self) -> None:
        """Take note that Python is about to read what was computed."""

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name, writes, makes_work = _facts(operation)
        if name in READS:
            self.reads()
        given = (args[place] if place < len(args) else kwargs.get(argument) for place, argument in writes)
        with torch._C.DisableTorchFunction():
            written = [tensor for tensor in tree_leaves(list(given)) if tensor is not None] if writes else []
            self._overwritten += [(tensor, tensor.detach().clone()) for tensor in written]
            result = operation(*args, **kwargs)
        if written or makes_work:
            self.of_memory += name in OF_MEMORY
            self.work.append(_again(operation, args, kwargs, None if written else result))
        return result


class RecordedGraph(Recording):
    """Records while it is entered; ``replay`` repeats.

    Args:
        stream: the one that is captured.
        run: what is recorded; it is held, with the memory that its kernels work on.
    """

    recording: RecordedGraph | None = None  # the one that kernels are kept in

    def __init__(self, stream: int, run: Callable[[], None]) -> None:
        super().__init__()
        self.stream, self._run = stream, run

    def __enter__(self) -> RecordedGraph:
        RecordedGraph.recording = self
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        RecordedGraph.recording = None
        self.undo()

    def reads(self) -> None:
        """Refuse it."""
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing")

    def keep(self, launch: Callable[[], None]) -> None:
        """Take a kernel in."""
        self.work.append(launch)

    @property
    def num_nodes(self) -> int:
        """Number of kernels and operations in it that a device is asked for."""
        return len(self.work) - self.of_memory

    def replay(self) -> None:
        """Do all of it, in order; what counts replays hears of it."""
        self.replayed(self)

    @staticmethod
    def replayed(graph: RecordedGraph) -> None:
        """What is called when a graph is replayed."""
        graph.repeat()

    def repeat(self) -> None:
        """Do all of it, in order."""
        again(self.work)


def again(recorded: list[Callable[[], None]]) -> None:
    """Do recorded work in the dtypes of then: autocast is no matter of a graph's, nor is the device of a tensor."""
    with torch.no_grad(), torch.autocast("cpu", enabled=False), torch._C.DisableTorchFunction():
        for work in recorded:
            work()


@functools.cache
def _facts(operation: Any) -> tuple[str, list[tuple[int, str]], bool]:
    """Name, places and names of what an operation writes (also an out=), and whether else it is work."""
    is_work = operation.namespace != "profiler"  # a name for the profiler is none
    arguments = enumerate(operation._schema.arguments if is_work else ())
    writes = [(place, argument.name) for place, argument in arguments if _is_written(argument)]
    return operation.overloadpacket.__name__, writes, is_work and not _is_view(operation)


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _is_view(operation: Any) -> bool:
    """Whether the result shares memory with an argument: then there is nothing to do again."""
    return any(returned.alias_info is not None for returned in operation._schema.returns)


def _again(operation: Any, args: Any, kwargs: Any, result: Any) -> Callable[[], None]:
    """The operation on the same tensors; what it made the first time is where its result goes."""

    def work() -> None:
        made = operation(*args, **kwargs)
        if result is None:
            return
        old, new = (result, made) if isinstance(result, (tuple, list)) else ((result,), (made,))
        for target, source in zip(old, new, strict=True):
            if isinstance(target, torch.Tensor):
                target.copy_(source)

    return work


def where_it_is_captured(launch: Callable[[], None]) -> Callable[[], None]:
    """The launch in the context of now, whatever is current when the graph is replayed: a graph knows its GPU."""
    driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    driver.cuCtxGetCurrent(ctypes.byref(context))

    def launch_there() -> None:
        driver.cuCtxPushCurrent_v2(context)
        try:
            launch()
        finally:
            driver.cuCtxPopCurrent_v2(None)

    return launch_there


def refuse_other_optimisers() -> None:
    """Let torch's optimisers refuse to step into a graph unless they are made for it, as on a GPU."""
    check = torch.optim.Optimizer._accelerator_graph_capture_health_check

    def check_here_too(self: torch.optim.Optimizer) -> None:
        check(self)
        if RecordedGraph.recording is not None and not all(group["capturable"] for group in self.param_groups):
            raise RuntimeError(f"Attempting CUDA graph capture of step() for an instance of {type(self).__name__}")

    torch.optim.Optimizer._accelerator_graph_capture_health_check = check_here_too  # type: ignore[method-assign]


def keep_captured_launches(function: type, do: Callable[[Callable[[], None]], None]) -> None:
    """Let PyCUDA's class of functions keep what is launched on a stream that is being captured, not run it.

    Args:
        function: the class.
        do: does all other launches, at its time.
    """
    launch = function._launch_kernel

    def launch_or_keep(self: Any, grid: Any, block: Any, arguments: bytes, shared: int, stream: Any) -> None:
        def launched() -> None:
            launch(self, grid, block, arguments, shared, stream)

        graph = RecordedGraph.recording
        if graph is not None and stream is not None and stream.handle == graph.stream:
            graph.keep(where_it_is_captured(launched))
        else:
            do(launched)

    function._launch_kernel = launch_or_keep  # type: ignore[attr-defined]
