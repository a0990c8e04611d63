"""The check runtime that is linked into a module, as Python calls it (cuda/cpu/check/findings.hpp)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpworld.checking.symbols import Variable
from warpworld.errors import DeviceError
from warpworld.managers.c_structs import INT, POINTER, UINT64, UNSIGNED, struct

INT64 = ctypes.c_int64
RACE, OUT_OF_BOUNDS, OTHER_ENV, UNWRITTEN, UNGUARDED, STALE, UNDEFINED, REPEATED, READ_ONLY, PASSED_BY = range(1, 11)
STORE, SHARED, VARIABLE = range(3)
STOPPED = 100  # error code: ended before an access that would have done harm
FORWARD, BACKWARD, SHUFFLED = range(3)  # orders of agents

_Region = struct(
    "_Region",
    **dict(name=ctypes.c_char_p, base=POINTER, bytes=UINT64, env_bytes=UINT64, unit=UNSIGNED, item=UNSIGNED),
    **dict(kind=INT, written=INT, read_only=INT, scratch=INT),
)
_Variable = struct("_Variable", name=ctypes.c_char_p, offset=UINT64, bytes=UINT64, thread_local_storage=INT)
_Value = struct("_Value", bits=UINT64, kind=INT)
_Undefined = struct("_Undefined", what=INT, type=ctypes.c_char_p, left=_Value, right=_Value)
NativeFinding = struct(
    "NativeFinding",
    **dict(kind=INT, region=INT, kernel_index=INT, env=UNSIGNED, thread=UNSIGNED, other_env=UNSIGNED),
    **dict(other_thread=UNSIGNED, write=INT, other_write=INT, atomic=INT, other_atomic=INT, barrier=INT, same=INT),
    **dict(size=UNSIGNED, step=UNSIGNED, offset=INT64, pc=UINT64, other_pc=UINT64),
    **dict(site=UINT64, other_site=UINT64, count=UINT64),
    undefined=_Undefined,
)
_Settings = struct(
    "_Settings",
    **dict(regions=POINTER, variables=POINTER, assignments=POINTER, num_regions=UNSIGNED, num_variables=UNSIGNED),
    **dict(num_assignments=UNSIGNED, num_agents=UNSIGNED),
    **dict(envs_per_warp=UNSIGNED, order=UNSIGNED, harmless=POINTER, harmless_end=POINTER, speaks=INT),
    **dict(watching=INT, allocates=INT),
)


UPDATE = np.dtype(
    [
        *((name, np.uint64) for name in ("pc", "site", "read_pc", "offset", "value")),
        *((name, np.int32) for name in ("region", "kernel_index")),
        *((name, np.uint32) for name in ("thread", "env", "step")),
        *((name, np.int32) for name in ("varies", "ordered")),
    ],
    align=True,
)  # ww_update


@dataclass(frozen=True)
class WatchedArray:
    """An array of the store, as the check runtime sees it.

    Attributes:
        name: the array's.
        address: of its first byte.
        nbytes: how large it is.
        env_bytes: bytes of one env's part; 0 where all envs share the array.
        item_bytes: of one element.
        written: whether its contents are defined before any kernel runs.
        read_only: whether kernels must not write it.
        scratch: whether its contents mean nothing between launches.
    """

    name: str
    address: int
    nbytes: int
    env_bytes: int
    item_bytes: int
    written: bool
    read_only: bool
    scratch: bool


class CheckRuntime:
    """The check runtime's records of one world.

    Args:
        library: the module.
        arrays: of the store, in the order in which findings count them.
        variables: of the module.
        assignments: offset and size of functions whose accesses are their callers'.
        num_agents: of an env.
        envs_per_warp: 0 for one env a block.
        order: in which agents run: FORWARD, BACKWARD or SHUFFLED.
        harmless: first and last address of memory in which a wrong access does no harm.
        speaks: whether what kernels print is seen.
        watching: whether accesses will be looked at.
        allocates: whether kernels use memory that a library allocates, so that what is far from all arrays is legal.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        arrays: Sequence[WatchedArray],
        variables: Sequence[Variable],
        assignments: Sequence[tuple[int, int]],
        num_agents: int,
        envs_per_warp: int,
        order: int,
        harmless: tuple[int, int],
        speaks: bool,
        watching: bool,
        allocates: bool,
    ) -> None:
        self._library = _declared(library)
        self.arrays = tuple(arrays)
        # arguments in C's form
        regions = (_Region * max(len(arrays), 1))(*map(_region, arrays))
        natives = (_Variable * max(len(variables), 1))(*map(_variable, variables))
        ranges = (UINT64 * (2 * len(assignments)))(*(number for pair in assignments for number in pair))
        settings = _Settings(
            regions=ctypes.addressof(regions),
            variables=ctypes.addressof(natives),
            assignments=ctypes.addressof(ranges),
            num_regions=len(arrays),
            num_variables=len(variables),
            num_assignments=len(assignments),
            num_agents=num_agents,
            envs_per_warp=envs_per_warp,
            order=order,
            harmless=harmless[0],
            harmless_end=harmless[1],
            speaks=speaks,
            watching=watching,
            allocates=allocates,
        )
        # the runtime of the check, which points to them
        self._keep = (regions, natives, ranges)
        self._state = library.ww_check_open(ctypes.addressof(settings))
        if not self._state:
            raise DeviceError("no memory to watch the arrays with; check fewer envs or agents")

    def begin(self, watching: bool, own_env_only: bool, step: int) -> None:
        """The launches that follow are this world's."""
        self._library.ww_check_begin(self._state, watching, own_env_only, step)

    def end(self) -> None:
        """The launches are over."""
        self._library.ww_check_end(self._state)

    def findings(self) -> list[Any]:
        """Return the NativeFindings so far, one of each kind and place."""
        first = POINTER()
        count = self._library.ww_check_findings(self._state, ctypes.byref(first))
        return list((NativeFinding * count).from_address(first.value)) if count and first.value else []

    def updates(self) -> np.ndarray:
        """The plain updates of elements, one for each place, element and agent; fields as in ``UPDATE``."""
        first = POINTER()
        count = self._library.ww_check_updates(self._state, ctypes.byref(first))
        if not count or not first.value:
            return np.empty(0, UPDATE)
        table = np.ctypeslib.as_array((ctypes.c_uint8 * (count * UPDATE.itemsize)).from_address(first.value))
        updates = table.view(UPDATE)
        return updates[updates["pc"] != 0].copy()

    def ran(self) -> np.ndarray:
        """The kernels that came to a basic block, a bit for each: (bytes of the image,) uint64, not copied."""
        first = POINTER()
        count = self._library.ww_check_ran(self._state, ctypes.byref(first))
        if not count or not first.value:
            return np.empty(0, np.uint64)
        return np.ctypeslib.as_array((UINT64 * count).from_address(first.value))

    def region(self, index: int) -> Any:
        """A region by its number, or None."""
        address = self._library.ww_check_region(self._state, index)
        return _Region.from_address(address) if address else None

    def now(self) -> int:
        """A moment, for ``reset``."""
        return int(self._library.ww_check_now(self._state))

    def reset(self, index: int, offset: int, nbytes: int, since: int, by_kernels: bool) -> int | None:
        """An env starts a new episode: what of its part was written before a moment only is of the old one.

        Returns:
            The first byte that was not written since; ``by_kernels``: of those that a kernel wrote before.
        """
        first = self._library.ww_check_reset(self._state, index, offset, nbytes, since, by_kernels)
        return None if first < 0 else int(first)

    def reader(self, index: int, offset: int) -> int:
        """The place in the module that read a byte of a region last, in the launch that ended last; 0 if none did."""
        return int(self._library.ww_check_reader(self._state, index, offset))

    def writer(self, index: int, offset: int) -> int:
        """The place in the module that wrote a byte of a region last; 0 if no kernel did."""
        return int(self._library.ww_check_writer(self._state, index, offset))

    def last(self) -> int:
        """The place of the last access of the thread that ran when a launch was ended; 0 if it made none."""
        return int(self._library.ww_check_last(self._state))

    def close(self) -> None:
        """Free what is known; nothing may be asked afterwards."""
        if self._state:
            self._library.ww_check_close(self._state)
            self._state = None


def _region(array: WatchedArray) -> ctypes.Structure:
    return _Region(
        name=array.name.encode(),
        base=array.address,
        bytes=array.nbytes,
        env_bytes=array.env_bytes,
        unit=array.item_bytes,
        item=array.item_bytes,
        kind=STORE,
        written=array.written,
        read_only=array.read_only,
        scratch=array.scratch,
    )


def _variable(variable: Variable) -> ctypes.Structure:
    return _Variable(
        name=variable.name.encode(),
        offset=variable.offset,
        bytes=variable.nbytes,
        thread_local_storage=variable.thread_local,
    )


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    """The library, whose functions know their arguments' types."""
    for name, returns, arguments in (
        ("open", POINTER, [POINTER]),
        ("close", None, [POINTER]),
        ("begin", None, [POINTER, INT, INT, UNSIGNED]),
        ("end", None, [POINTER]),
        ("findings", UNSIGNED, [POINTER, POINTER]),
        ("updates", UNSIGNED, [POINTER, POINTER]),
        ("ran", UINT64, [POINTER, POINTER]),
        ("region", POINTER, [POINTER, UNSIGNED]),
        ("now", UNSIGNED, [POINTER]),
        ("reset", INT64, [POINTER, UNSIGNED, UINT64, UINT64, UNSIGNED, INT]),
        ("reader", UINT64, [POINTER, UNSIGNED, UINT64]),
        ("writer", UINT64, [POINTER, UNSIGNED, UINT64]),
        ("last", UINT64, [POINTER]),
    ):
        function = getattr(library, f"ww_check_{name}")
        function.restype, function.argtypes = returns, arguments
    return library
