"""The recurrence of a minimal GRU in C++, on the host's cores."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from warpworld.managers.cpu import MAX_WORKERS, NativeLibrary, WorkerLoop

SOURCE = Path(__file__).resolve().parent / "gated_mean.cpp"


class _MeanCall(ctypes.Structure):
    """Struct of gated_mean.cpp."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("steps", "agents", "size")),
        *((name, ctypes.c_void_p) for name in ("said", "state", "starts", "means", "given", "of_said", "of_state")),
    ]


@functools.cache
def _library() -> NativeLibrary:
    return NativeLibrary(SOURCE)


class GatedMeans:
    """``gated_mean`` and its gradient, the same bits for any number of workers. A call from one thread at a time.

    Args:
        num_workers: threads, the calling one included; None means as many as torch has. At most 128 are used.

    Raises:
        BuildError: the library does not compile here.
    """

    dtypes: ClassVar[tuple[torch.dtype, ...]] = (torch.float32,)

    def __init__(self, num_workers: int | None = None) -> None:
        workers = min(torch.get_num_threads() if num_workers is None else num_workers, MAX_WORKERS)
        self._call = _MeanCall()
        self._run = {name: WorkerLoop(_library(), name, self._call, workers) for name in ("means", "mean_gradients")}

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Copy as None: torch runs a copied network."""
        return type(None), ()

    def takes(self, said: Tensor, state: Tensor) -> bool:
        """Whether these are of the kind that it computes."""
        on_cpu = said.device.type == state.device.type == "cpu" and said.dtype == state.dtype == torch.float32
        return on_cpu and not torch.compiler.is_compiling()

    def __call__(self, said: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """Implement ``gated_mean``: (T, S, 2 * size), (S, size) and (T, S) -> (T, S, size), with a gradient."""
        return NativeMean.apply(said.contiguous(), state.contiguous(), starts.contiguous(), self)

    def means(self, said: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """(T, S, size) from contiguous tensors."""
        means = said.new_empty(*said.shape[:-1], said.shape[-1] // 2)
        self._start("means", said, state, starts, means)
        return means

    def gradients(
        self, said: Tensor, state: Tensor, starts: Tensor, means: Tensor, given: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Gradients of ``said`` and ``state``, from that of the means, (T, S, size)."""
        of_said, of_state, given = torch.empty_like(said), torch.empty_like(state), given.contiguous()
        self._start("mean_gradients", said, state, starts, means, given=given, of_said=of_said, of_state=of_state)
        return of_said, of_state

    def _start(
        self, name: str, said: Tensor, state: Tensor, starts: Tensor, means: Tensor, **gradients: Tensor
    ) -> None:
        call = self._call
        call.steps, call.agents, call.size = means.shape
        tensors = {"said": said, "state": state, "starts": starts, "means": means, **gradients}
        for field, tensor in tensors.items():
            setattr(call, field, tensor.data_ptr())
        if means.numel():
            self._run[name](means.shape[1])


class NativeMean(torch.autograd.Function):
    """Autograd function of ``gated_mean``; ``native`` has ``means`` and ``gradients`` as ``GatedMeans`` has."""

    @staticmethod
    def forward(ctx: Any, said: Tensor, state: Tensor, starts: Tensor, native: Any) -> Tensor:
        """Compute the means: (T, S, size)."""
        means = native.means(said, state, starts)
        ctx.native = native
        ctx.save_for_backward(said, state, starts, means)
        return means

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor, Tensor, None, None]:
        """Compute the gradients of ``said`` and ``state`` from that of the means."""
        of_said, of_state = ctx.native.gradients(*ctx.saved_tensors, given)
        return of_said, of_state, None, None
