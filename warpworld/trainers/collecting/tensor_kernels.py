"""Kernels on torch's own tensors, whose parameters are addresses: they lie in no store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from warpworld.environment import Kernel
from warpworld.managers import LEAST_BLOCKS, Needs
from warpworld.world import World

MOST_PROGRAMS = 1024  # launches that are kept, for calls with the same tensors


def needs_of(read: Sequence[Tensor | None], written: Sequence[Tensor | None], flop: float = 0.0) -> Needs:
    """Needs of a launch that reads and writes some tensors, each once; None is none."""
    moved = [sum(tensor.nbytes for tensor in tensors if tensor is not None) for tensors in (read, written)]
    return Needs(flop, *moved)


class TensorKernels:
    """Kernels of a file whose parameters are addresses of torch's tensors, and numbers behind them.

    Args:
        world: that is not sealed.
        source: the file.
        constants: of the file.
        names: of its kernels.
        lanes: threads of an env: few, since an env that finds no work costs its block's launch.
        exactly: whether kernels need so many; else fewer will do, as on a cpu.
    """

    def __init__(
        self,
        world: World,
        source: Path,
        constants: Mapping[str, int],
        names: Sequence[str],
        lanes: int,
        exactly: bool = False,
    ) -> None:
        self._world, self._programs = world, dict[tuple[str, tuple[float, ...]], Callable[[], None]]()
        settings = {"NUM_AGENTS": 1, LEAST_BLOCKS: 1, **constants}  # more blocks make some of them spill registers
        self._functions = world.kernels(source, settings)
        threads = lanes if exactly else (1, lanes)
        self._functions.build([Kernel(name, threads, own_env_only=False) for name in names])

    @property
    def num_envs(self) -> int:
        """Envs that there are at most to share the work."""
        return self._world.num_envs

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Copy as None: torch runs a copied network."""
        return type(None), ()

    def is_here(self, tensor: Tensor) -> bool:
        """Whether kernels can read a tensor: while the world has no memory, torch runs the network."""
        if not self._world.data.sealed:
            self._programs.clear()  # each holds the store's memory
            return False
        return tensor.device == self._world.device and tensor.numel() > 0 and not torch.compiler.is_compiling()

    def launch(
        self,
        kernel: str,
        tensors: Sequence[Tensor],
        numbers: Sequence[float],
        envs: int,
        needs: Needs | None = None,
    ) -> None:
        """Run a kernel; a program knows the addresses of its tensors, which return as torch's memory does.

        Args:
            kernel: its name.
            tensors: contiguous ones, whose addresses are its first parameters.
            numbers: its other parameters, but for the last: the number of envs that work.
            envs: for how many there is work; more than the world has are as many as it has.
            needs: its bytes and operations, which addresses do not tell.
        """
        envs = min(envs, self._world.num_envs)
        given = (*(tensor.data_ptr() for tensor in tensors), *numbers, envs)
        key = (kernel, given)
        if key not in self._programs:
            if len(self._programs) == MOST_PROGRAMS:
                self._programs.clear()
            step = self._functions.step(kernel, index=0, own_env_only=False, given=given, envs=envs, needs=needs)
            self._programs[key] = self._world.program([step])
        self._programs[key]()
