"""Interface of a device.

A backend is three small things: allocate a block, build a source, run a program. Nothing outside the backends' own
folders knows a device; devices.py finds them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from warpworld.managers.data_manager import DataManager
from warpworld.managers.kernel_source import KernelSource
from warpworld.managers.program import OneByOne, Program, Step, WorldConstants

if TYPE_CHECKING:
    import torch


class Backend(Protocol):
    """A device that kernels run on and that memory lies on.

    Attributes:
        name: what a user calls it, for instance "cpu".
        device: where torch sees the memory.
        warp_size: lanes of a warp.
        side_by_side: whether an env's threads run at the same time, so that more of them are quicker.
        packs_envs: whether small envs are to share a warp where their kernels allow it.
        warps_per_block: of kernels whose envs share warps.
        padding: bytes that are left free behind each array of the store.
        captures: whether ``capture`` works.
        runs_on_host: whether programs may hold a ``RunHostFunction``, and begin with a ``Repeat``, and whether
            ``one_by_one`` works.
    """

    name: str
    warp_size: int
    side_by_side: bool
    packs_envs: bool
    warps_per_block: int
    padding: int
    captures: bool
    runs_on_host: bool

    @property
    def device(self) -> torch.device:
        """The device that memory is allocated on and kernels run on."""

    def describe(self) -> str:
        """The device in words, for instance "cpu (8 cores)"."""

    def allocate(self, nbytes: int) -> torch.Tensor:
        """A block of ``nbytes`` bytes: uint8, one-dimensional, aligned to 256 bytes.

        Raises:
            MemoryError, RuntimeError: there is not so much.
        """

    def free_memory(self) -> int | None:
        """Bytes that could be allocated, None where that is not known."""

    def build(self, source: KernelSource) -> Any:
        """Compile a source. Raises BuildError with the compiler's words at the author's file and line."""

    def program(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> Program:
        """Freeze steps against a sealed store, whose memory lives as long as the program.

        A call may take some envs through all steps before others begin: a kernel that touches other envs' parts comes
        alone.
        """

    def one_by_one(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> OneByOne:
        """Freeze steps that are taken for single envs, where a backend ``runs_on_host``.

        No kernel among them touches other envs' parts, and each env has a block of its own.
        """

    def random_state(self) -> torch.Tensor:
        """State of torch's own generator of the device."""

    def set_random_state(self, state: torch.Tensor) -> None:
        """Write back what ``random_state`` returned."""

    def branch(self) -> Callable[[Callable[[], None]], None]:
        """Begin a branch of work, which follows all that was asked of the device before.

        Returns:
            A function that calls the work. The device may do it at the same time as what was asked since then,
            and does it before what is asked afterwards.
        """

    def wait(self) -> None:
        """Wait until the device has done all work, also that of branches."""

    def warm_up(self, run: Callable[[], None]) -> None:
        """Carry ``run`` out where it will be captured."""

    def capture(self, run: Callable[[], None]) -> Callable[[], None]:
        """Capture the device's work of ``run``, which is called but not carried out; return what repeats it.

        It holds ``run``, and with it the memory and the kernels that the work needs.
        """
