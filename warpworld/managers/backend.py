"""What a device must offer, and the choice between the two that there are.

A backend is three small things: allocate a block, build a source, run a program. A program is the list of steps below,
in the words of the store; how they become launches is the backend's own affair. Nothing outside the backend files knows
a device.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from warpworld.errors import DeviceError, suggest

if TYPE_CHECKING:
    import torch

    from warpworld.managers.data_manager import DataManager
    from warpworld.managers.kernel_source import KernelSource

logger = logging.getLogger(__name__)

DEVICES = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class BeginStep:
    """Every env takes part; timestep and clock advance; terminated and truncated are cleared."""


@dataclass(frozen=True)
class BeginReset:
    """The envs that the caller marked in ``active`` start anew: timestep 0, clock advances, ends are cleared."""


@dataclass(frozen=True)
class EndStep:
    """The envs that ended become the active ones, and their timestep is 0 again."""


@dataclass(frozen=True)
class Argument:
    """What one slot of a kernel, a parameter or a field of a struct, is bound to: an array by name, or a number.

    Attributes:
        array: name of the array, or None.
        value: the number, if ``array`` is None.
        dtype: NumPy name of the parameter's type, or of what it points to.
    """

    array: str | None
    value: int | float | bool
    dtype: str


@dataclass(frozen=True)
class RunKernel:
    """Run a kernel of a built module, for all envs or for the active ones.

    Attributes:
        module: what the backend's ``build`` returned.
        name: of the kernel.
        arguments: one per slot of the kernel's signature, in order.
        threads: of a block.
        envs_per_block: how many envs share a block.
        index: the kernel's number in its world; it keeps kernels' random numbers apart.
        active_only: whether envs that do not take part are left out.
        own_env_only: False if it touches other envs' parts, so that it must have a launch of its own.
    """

    module: Any
    name: str
    arguments: tuple[Argument, ...]
    threads: int
    envs_per_block: int
    index: int
    active_only: bool = False
    own_env_only: bool = True


@dataclass(frozen=True)
class Copy:
    """Copy each env's part of one array into another, or into one of its rows.

    Attributes:
        source: per env, or shared by all envs (``shared``).
        target: (num_envs, ...), or (rows, num_envs, ...) with ``row``.
        active_only: copy the active envs only.
        shared: the source holds one env's part, the same for all.
        row: name of the array with the row's number, one int32 per world, or None.
    """

    source: str
    target: str
    active_only: bool = False
    shared: bool = False
    row: str | None = None


@dataclass(frozen=True)
class KeepFinal:
    """Keep the final observation of each env that was truncated (and not terminated) in its next free slot.

    Attributes:
        source: (num_envs, ...), the observations.
        target: (num_envs, slots, ...).
        slot_rows: (num_envs, slots) int32, receives the row.
        slots_used: (num_envs,) int32, is counted up.
        row: name of the array with the row's number, one int32 per world.
    """

    source: str
    target: str
    slot_rows: str
    slots_used: str
    row: str


Step = BeginStep | BeginReset | EndStep | RunKernel | Copy | KeepFinal


# Steps frozen against the sealed store: a call runs them in order for all envs, and raises KernelError if one faults.
Program = Callable[[], None]


@dataclass(frozen=True)
class WorldConstants:
    """What a world tells its kernels besides its arrays.

    Attributes:
        num_envs: envs in this process.
        first_env: global index of the first of them.
        seed: of all random numbers, 64 bits.
    """

    num_envs: int
    first_env: int
    seed: int


class Backend(Protocol):
    """A device that kernels run on and that memory lies on.

    Attributes:
        name: "cpu" or "cuda".
        device: where torch sees the memory.
        side_by_side: whether an env's threads run at the same time, so that more of them are quicker.
        packs_envs: whether small envs are to share a warp where their kernels allow it.
        warps_per_block: of kernels whose envs share warps.
        padding: bytes that are left free behind each array of the store.
        captures: whether ``capture`` works.
    """

    name: str
    device: torch.device
    side_by_side: bool
    packs_envs: bool
    warps_per_block: int
    padding: int
    captures: bool

    def allocate(self, nbytes: int) -> torch.Tensor:
        """A block of ``nbytes`` bytes: uint8, one-dimensional, aligned to 256 bytes.

        Raises:
            MemoryError, RuntimeError: there is not so much.
        """

    def free_memory(self) -> int | None:
        """Bytes that could be allocated, None where nobody can say."""

    def build(self, source: KernelSource) -> Any:
        """Compile a source. Raises BuildError with the compiler's words at the author's file and line."""

    def program(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> Program:
        """Freeze steps against a sealed store."""

    def random_state(self) -> torch.Tensor:
        """State of torch's own generator of the device."""

    def set_random_state(self, state: torch.Tensor) -> None:
        """Write back what ``random_state`` returned."""

    def warm_up(self, run: Callable[[], None]) -> None:
        """Carry ``run`` out where it will be captured."""

    def capture(self, run: Callable[[], None]) -> Callable[[], None]:
        """What repeats the device's work of ``run``, which is called but not carried out."""


def open_backend(device: str = "auto", num_workers: int | None = None) -> Backend:
    """The backend for ``device``.

    Args:
        device: "cpu", "cuda", or "auto" for the best one that works.
        num_workers: threads that step envs on a CPU; None means one per core.

    Raises:
        DeviceError: there is no such device, or it does not work here.
    """
    from warpworld.managers.cpu.backend import CpuBackend
    from warpworld.managers.cuda.backend import CudaBackend

    if device not in DEVICES:
        raise DeviceError(f"device {device!r}: expected one of {', '.join(DEVICES)}.{suggest(str(device), DEVICES)}")
    if device == "cpu":
        return CpuBackend(num_workers)
    try:
        return CudaBackend()
    except DeviceError as error:
        if device == "cuda":
            raise DeviceError(f"device 'cuda' cannot be used: {error}") from error
        logger.info("device auto: cpu, since %s", str(error).partition(";")[0])
    return CpuBackend(num_workers)


def describe_devices() -> list[str]:
    """Lines that say which backend "auto" takes and why not another."""
    from warpworld.managers.cpu.backend import available_cores
    from warpworld.managers.cuda.backend import CudaBackend

    cpu = f"cpu ({available_cores()} cores)"
    try:
        backend = CudaBackend()
    except DeviceError as error:
        return [f"device auto: {cpu}", f"device cuda: not usable, {error}"]
    return [f"device auto: {backend.describe()}", f"device cpu: {cpu}"]
