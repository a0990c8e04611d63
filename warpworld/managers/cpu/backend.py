"""The cpu backend: ``.cu`` files through the host C++ compiler, run by the runtime library's pool of workers."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from warpworld.errors import DeviceError
from warpworld.managers import (
    DataManager,
    KernelSource,
    Program,
    Step,
    WorldConstants,
    explain_failure,
)
from warpworld.managers.cpu.free_memory import available_memory
from warpworld.managers.cpu.host_compiler import (
    HOST_CODE_FLAGS,
    HOST_CODE_WRAPPED,
    debugging,
    find_compiler,
    kernel_flags,
    require_cpp_library,
    users_kernel_flags,
)
from warpworld.managers.cpu.library_source import LibrarySource
from warpworld.managers.cpu.module import Module
from warpworld.managers.cpu.native_runtime import contents_of, runtime
from warpworld.managers.cpu.one_by_one import OneByOne
from warpworld.managers.cpu.program import CpuProgram
from warpworld.managers.cpu.refused_words import why_not_on_cpu
from warpworld.managers.cpu.workers import MAX_WORKERS, available_cores

if TYPE_CHECKING:
    import torch


class CpuBackend:
    """Kernels on the host's cores, arrays in host memory.

    Args:
        num_workers: threads that step envs, the calling one included; None means one per core, and under
            ``$WARPWORLD_DEBUG=1`` one in all. Results do not depend on it.
    """

    name = "cpu"
    warp_size = 32  # that of CUDA, so that a kernel's warps are the same everywhere
    side_by_side = False
    packs_envs = False  # unused lanes would cost time here
    warps_per_block = 1
    padding = 0
    captures = False
    runs_on_host = True

    def __init__(self, num_workers: int | None = None) -> None:
        if sys.platform != "linux":
            raise DeviceError(f"the cpu backend runs on Linux, not on {sys.platform}; on Windows, use it under WSL")
        most = 1 if debugging() else min(available_cores(), MAX_WORKERS)
        workers = most if num_workers is None else num_workers
        is_whole = isinstance(workers, (int, np.integer)) and not isinstance(workers, bool)
        if not is_whole or not 1 <= workers <= MAX_WORKERS:
            raise DeviceError(f"num_workers={workers!r}: expected 1 to {MAX_WORKERS}")
        self.num_workers = workers

    @functools.cached_property
    def device(self) -> torch.device:
        """Device of torch; loads torch when it is first asked for, which ``warpworld info`` does not do."""
        import torch

        return torch.device("cpu")

    def describe(self) -> str:
        """The device, in words."""
        return f"{self.name} ({available_cores()} cores)"

    def allocate(self, nbytes: int) -> torch.Tensor:
        """A zeroed block of ``nbytes`` bytes, aligned to a page."""
        import torch

        page = 4096
        block = torch.zeros(nbytes + page, dtype=torch.uint8)
        start = -block.data_ptr() % page
        return block[start : start + nbytes]

    def free_memory(self) -> int | None:
        """Memory that the system can give without swapping; it may promise more."""
        return available_memory()

    def build(self, source: KernelSource) -> Module:
        """Compile a source into a module, or take it from the build cache."""
        runtime()
        if source.host:
            require_cpp_library(find_compiler(), source.path)
        library = LibrarySource(
            kind="module",
            text=source.host_text(self.warp_size),
            flags=kernel_flags() + (HOST_CODE_FLAGS if source.host else ()),
            users_flags=users_kernel_flags(),
            folders=tuple(source.host_folders()),
            contents=tuple(contents_of(source)),
            subject=source.subject,
            refuse=lambda log, compiler: explain_failure(source, log, why_not_on_cpu),
            apart=source.filling(),
            wrapped=HOST_CODE_WRAPPED if source.host else (),
            link_flags=source.host.link_flags if source.host else (),
        )
        return Module(library.library(), source)

    def program(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> Program:
        """Freeze steps against a sealed store."""
        return CpuProgram(steps, data, world, self.num_workers).frozen()

    def one_by_one(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> OneByOne:
        """Freeze steps that are taken for single envs, in the order in which these are sent."""
        return OneByOne(CpuProgram(steps, data, world, self.num_workers), world.num_envs)

    def random_state(self) -> torch.Tensor:
        """State of torch's own generator."""
        import torch

        return torch.get_rng_state()

    def set_random_state(self, state: torch.Tensor) -> None:
        """Write back what ``random_state`` returned."""
        import torch

        torch.set_rng_state(state)

    def branch(self) -> Callable[[Callable[[], None]], None]:
        """Begin a branch whose work is done where it is called: work is done when it is asked for."""
        return lambda work: work()

    def wait(self) -> None:
        """Return at once: all is done."""

    def warm_up(self, run: Callable[[], None]) -> None:
        """Raise DeviceError: nothing is captured on the cpu."""
        raise DeviceError("device 'cpu' captures nothing; see Backend.captures")

    def capture(self, run: Callable[[], None]) -> Callable[[], None]:
        """Raise DeviceError: nothing is captured on the cpu."""
        raise DeviceError("device 'cpu' captures nothing; see Backend.captures")
