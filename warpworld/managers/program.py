"""The words of a program: the steps that a world asks a backend for, in terms of the store's arrays.

How steps become launches is the backend's own affair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

if TYPE_CHECKING:
    import numpy as np

# What becomes of an env that ended, in the order of ww_autoreset in cuda/context.cuh.
Autoreset = Literal["same_step", "next_step", "disabled"]
AUTORESET: tuple[Autoreset, ...] = get_args(Autoreset)


@dataclass(frozen=True)
class BeginStep:
    """Advance timestep and clock of the envs that take part, and clear terminated and truncated.

    Without autoreset in the same step, an env that has ended is not stepped: "next_step" marks it for a reset at the
    end of this step, for which its clock advances; "disabled" leaves it alone. ``active`` says which envs are stepped.

    Attributes:
        active_only: only the envs that the caller marked in ``active`` take part, or all.
    """

    active_only: bool = False


@dataclass(frozen=True)
class BeginReset:
    """The envs that the caller marked in ``active`` start anew: timestep 0, clock advances, ends are cleared."""


@dataclass(frozen=True)
class EndStep:
    """The envs that are reset in this step become the active ones, their timestep 0; clocks have advanced for it."""


@dataclass(frozen=True)
class Argument:
    """An array by name, or a number, that a parameter of a kernel or a field of its structs is bound to.

    Attributes:
        array: name of the array, or None.
        value: the number, if ``array`` is None.
        dtype: NumPy name of the parameter's type, or of what it points to.
    """

    array: str | None
    value: int | float | bool
    dtype: str


@dataclass(frozen=True)
class Needs:
    """Bytes and operations of a kernel that its parameters do not tell, for a forecast.

    Attributes:
        flop: operations of products; a multiplication and an addition count as two.
        read: bytes that it reads from memory; None where the arrays that it is bound to are all.
        written: bytes that it writes, likewise.
    """

    flop: float = 0.0
    read: float | None = None
    written: float | None = None


@dataclass(frozen=True)
class RunKernel:
    """Run a kernel of a built module, for all envs or for the active ones.

    Attributes:
        module: what the backend's ``build`` returned.
        name: of the kernel.
        arguments: one per leaf of the kernel's signature, in order.
        threads: of a block.
        envs_per_block: how many envs share a block.
        index: the kernel's number in its world; it keeps kernels' random numbers apart.
        active_only: whether envs that do not take part are left out.
        own_env_only: False if it touches other envs' parts, so that it must have a launch of its own.
        envs: of how many envs a GPU launches the blocks; None for all. In the others the kernel returns at once.
        needs: what its arrays do not tell of its work; None where they tell all.
    """

    module: Any
    name: str
    arguments: tuple[Argument, ...]
    threads: int
    envs_per_block: int
    index: int
    active_only: bool = False
    own_env_only: bool = True
    envs: int | None = None
    needs: Needs | None = None


@dataclass(frozen=True)
class RunHostFunction:
    """Run a function of the package's own C++ for all envs, where a backend ``runs_on_host``.

    Attributes:
        function: address of its ``ww_kernel`` (cuda/cpu/abi.hpp), which is given blocks of envs.
        argument: a ctypes struct, whose address it finds as its only argument.
        envs_per_block: how many envs a block has.
        max_workers: how many workers may run it side by side.
    """

    function: int
    argument: Any
    envs_per_block: int
    max_workers: int


@dataclass(frozen=True)
class Repeat:
    """Take all steps of the program that it begins several times in a row, where a backend ``runs_on_host``.

    Attributes:
        times: how often.
        row: name of an array, one int32 per world, that is counted up after each time.
    """

    times: int
    row: str


@dataclass(frozen=True)
class Agents:
    """Range of an env's agents, in two arrays that have a dimension of agents.

    Attributes:
        source: place of the first of them in one array.
        target: place of the first of them in the other.
        count: how many they are.
    """

    source: int
    target: int
    count: int


@dataclass(frozen=True)
class Copy:
    """Copy each env's part of one array into another, or into one of its rows.

    Attributes:
        source: per env, or shared by all envs (``shared``).
        target: (num_envs, ...), or (rows, num_envs, ...) with ``row``.
        active_only: copy the active envs only.
        shared: the source holds one env's part, the same for all.
        row: name of the array with the row's number, one int32 per world, or None.
        agents: copy these agents only, from source (num_envs, agents, ...); the target may have more or fewer agents.
    """

    source: str
    target: str
    active_only: bool = False
    shared: bool = False
    row: str | None = None
    agents: Agents | None = None


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


@dataclass(frozen=True)
class CheckActions:
    """Check at the start of a program that no entry of an actions array is out of its bounds, or NaN.

    Attributes:
        array: per agent or per env, int32 or float32.
        low: least legal value of each entry of an env, in the order in which they lie.
        high: most.
        start: what an action's space counts from where the array counts from 0, for messages; else 0.
    """

    array: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    start: tuple[float, ...]


Work = BeginStep | BeginReset | EndStep | RunKernel | RunHostFunction | Copy | KeepFinal | CheckActions
Step = Work | Repeat


# Steps frozen against the sealed store: a call runs them in order for all envs, and raises KernelError if one faults.
# A call is whole: threads that make calls at the same time take turns.
Program = Callable[[], None]


class OneByOne(Protocol):
    """A step that is taken for single envs while the caller does other things. All envs are ready at first."""

    def send(self, envs: np.ndarray) -> None:
        """Let envs (indices), none of which is under way, be stepped.

        Raises:
            StoreError: an action of theirs is illegal; none of them is stepped.
        """

    def receive(self, count: int) -> np.ndarray:
        """Wait for so many of the envs under way, in the order in which they are ready: (count,) int32.

        Raises:
            KernelError: a kernel faulted; all envs under way are ready then, and some have not been stepped.
        """

    def settle(self) -> None:
        """Wait for all envs under way, and let all envs be ready, in order.

        Raises:
            KernelError: as ``receive``, of a fault that was not received.
        """

    def close(self) -> None:
        """Wait for all envs under way."""


@dataclass(frozen=True)
class WorldConstants:
    """Arguments that a world passes to its kernels besides its arrays.

    Attributes:
        num_envs: envs in this process.
        first_env: global index of the first of them.
        seed: of all random numbers, 64 bits.
        autoreset: one of ``AUTORESET``.
    """

    num_envs: int
    first_env: int
    seed: int
    autoreset: Autoreset = "same_step"
