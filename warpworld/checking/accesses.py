"""Turns what the check runtime saw into findings: places become lines, offsets become indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from warpworld.checking.branches import SAME_BRANCHES, branch_of
from warpworld.checking.check_backend import CheckBackend
from warpworld.checking.findings import Finding
from warpworld.checking.native import (
    OTHER_ENV,
    OUT_OF_BOUNDS,
    PASSED_BY,
    RACE,
    READ_ONLY,
    REPEATED,
    SHARED,
    STALE,
    STORE,
    UNDEFINED,
    UNGUARDED,
    UNWRITTEN,
)
from warpworld.checking.places import Place
from warpworld.checking.source_tree import Sources, authors_files, read_sources
from warpworld.checking.undefined import explain, index_of
from warpworld.managers import INCLUDE_FOLDER, DataManager, takes_turns
from warpworld.managers.cpu import source_lines


class Accesses:
    """Reports a world's accesses.

    Args:
        backend: that watched them.
        data: the world's store, sealed.
        kernels: names by their number in the world.
    """

    def __init__(self, backend: CheckBackend, data: DataManager, kernels: dict[int, str]) -> None:
        self._backend, self._data, self._kernels = backend, data, kernels
        self._lines: dict[int, Place] = {}

    @property
    def sources(self) -> Sources:
        """The author's files."""
        module = self._backend.module
        return read_sources(authors_files(module.source) if module is not None else ())

    def findings(self) -> list[Finding]:
        """A finding for each thing that the runtime saw."""
        if self._backend.runtime is None:
            return []
        natives = self._backend.runtime.findings()
        self._look_up({pc for native in natives for pc in _pcs(native) if pc})
        return first_causes([self._finding(native) for native in natives if self._is_fault(native)])

    def _is_fault(self, native: Any) -> bool:
        """False for an agent that has returned before a barrier, as it may, and where that is not known.

        It has continued past the barrier if its last access is below it in the same kernel.
        """
        if native.kind != PASSED_BY:
            return True
        assert self._backend.module is not None
        name, place = self._kernels.get(native.kernel_index), self._lines.get(native.pc)
        kernel = next((each for each in self._backend.module.source.signatures if each.name == name), None)
        if kernel is None or place is None or place.file != str(kernel.path):
            return False
        return kernel.line <= native.barrier < place.line <= kernel.last_line

    def writer(self, array: str, offset: int) -> int:
        """The place that wrote a byte of an array last; 0 if no kernel did."""
        assert self._backend.runtime is not None
        return self._backend.runtime.writer(self._index_of(array), offset)

    def reader(self, array: str, offset: int) -> int:
        """The place that read a byte of an array last, in the kernel that ran last; 0 if none did."""
        assert self._backend.runtime is not None
        return self._backend.runtime.reader(self._index_of(array), offset)

    def _index_of(self, array: str) -> int:
        assert self._backend.runtime is not None
        return next(i for i, watched in enumerate(self._backend.runtime.arrays) if watched.name == array)

    def line(self, pc: int, kernel: str) -> Place:
        """The author's line at a place; that of the kernel where it is not known."""
        self._look_up({pc} if pc else ())
        return self._lines.get(pc) or self.kernel_line(kernel)

    def kernel_line(self, kernel: str) -> Place:
        """Line on which a kernel begins."""
        assert self._backend.module is not None
        source = self._backend.module.source
        places = {signature.name: Place(str(signature.path), signature.line) for signature in source.signatures}
        return places.get(kernel, Place(str(source.path), 0))

    def _can_meet(self, kernel: str) -> bool:
        """Whether an env's agents could have a barrier in a kernel; those that take turns cannot."""
        assert self._backend.module is not None
        source = self._backend.module.source
        lanes = {signature.name: n for signature, n in zip(source.signatures, source.threads, strict=True)}
        return not takes_turns(lanes.get(kernel, 0))

    def _look_up(self, pcs: Iterable[int]) -> None:
        wanted = [pc for pc in pcs if pc not in self._lines]
        if wanted and self._backend.module is not None:
            found = source_lines(self._backend.module.path, wanted, INCLUDE_FOLDER)
            self._lines.update({pc: Place(*place) for pc, place in found.items()})

    def _finding(self, native: Any) -> Finding:
        assert self._backend.runtime is not None
        # the element, or memory of no array
        region = self._backend.runtime.region(native.region)
        kernel = self._kernels.get(native.kernel_index, "")
        name = region.name.decode() if region is not None else ""
        index, element = self._element(region, native) if region is not None else ((), "memory of no array")
        if native.kind == UNDEFINED and region is None:
            index = index_of(native.undefined)
        # the words for its kind
        tell = {
            RACE: _race,
            OUT_OF_BOUNDS: _out_of_bounds,
            OTHER_ENV: _other_env,
            UNWRITTEN: _unwritten,
            UNGUARDED: _unguarded,
            STALE: _stale,
            UNDEFINED: _undefined,
            REPEATED: _repeated,
            READ_ONLY: _read_only,
            PASSED_BY: _passed_by,
        }[native.kind]
        # lines of the source
        place = self.line(native.pc, kernel)
        other = self.line(native.other_pc, kernel) if native.kind in (RACE, REPEATED) else None
        if native.kind == PASSED_BY:
            other = Place(place.file, native.barrier)
            place = branch_of(self.sources, other) or place
        # races within an env, which a barrier may fix
        within_env = native.kind == RACE and native.env == native.other_env
        can_meet = within_env and self._can_meet(kernel)
        kind, message, advice = tell(native, element, _where(place, other), region)
        if within_env and not can_meet and not native.same:
            advice = _advice_to_turns(native)
        return Finding(
            kind=kind,
            place=place,
            message=f"kernel '{kernel}', env {native.env}: {message}",
            advice=advice,
            note=bool(native.same),
            kernel=kernel,
            array=name,
            index=index,
            env=native.env,
            agents=(native.thread, native.other_thread) if native.kind == RACE else (native.thread,),
            writes=(bool(native.write), bool(native.other_write)) if native.kind == RACE else (bool(native.write),),
            other=other,
            step=native.step,
            sites=tuple(self.line(pc, kernel) for pc in (native.site, native.other_site)) if can_meet else (),
        )

    def _element(self, region: Any, native: Any) -> tuple[tuple[int, ...], str]:
        """Index and name of what was accessed."""
        if region.kind == STORE and not 0 <= native.offset < region.bytes:
            name, element = region.name.decode(), native.offset // region.item
            return (element,), f"'{name}' of shape {tuple(self._data[name].shape)} at element {element}"
        return self.named(region, native.offset, native.size)

    def named(self, region: Any, offset: int, size: int = 1) -> tuple[tuple[int, ...], str]:
        """Index and name of the element at a byte of a region; ``size``: of an element where that is not known."""
        name = region.name.decode()
        if region.kind == STORE:
            index = self.index_of(name, offset)
            return index, element_name(self._data, name, index)
        item, what = region.item or size, "shared" if region.kind == SHARED else "__device__"
        element = offset // item
        return (element,), f"{what} {name}" if region.bytes == item else f"{what} {name}[{element}]"

    def index_of(self, array: str, offset: int) -> tuple[int, ...]:
        """Index of the element at a byte of an array."""
        view = self._data[array]
        return (
            tuple(int(i) for i in np.unravel_index(offset // view.element_size(), tuple(view.shape)))
            if view.ndim
            else ()
        )


def _pcs(native: Any) -> tuple[int, ...]:
    """The places of a native finding."""
    return native.pc, native.other_pc, native.site, native.other_site


def element_name(data: DataManager, name: str, index: tuple[int, ...]) -> str:
    """An element in words: "x[env 2, agent 1]"."""
    per = data.array(name).per
    lead = {"agent": ("env ", "agent "), "env": ("env ",), "world": ()}[per]
    parts = [f"{lead[i] if i < len(lead) else ''}{n}" for i, n in enumerate(index)]
    return f"{name}[{', '.join(parts)}]" if parts else name


def first_causes(findings: Sequence[Finding]) -> list[Finding]:
    """Findings without those that say the same once more, or what came of it."""
    beside = {(f.place, f.env, f.agents) for f in findings if f.kind == "out-of-bounds" and f.array}
    undefined = {(f.kernel, f.env, f.agents) for f in findings if f.kind == "undefined"}

    def follows(f: Finding) -> bool:
        if f.kind == "undefined":  # an index of shared memory, which has a name
            return bool(f.index) and not f.array and (f.place, f.env, f.agents) in beside
        return f.kind == "out-of-bounds" and not f.array and (f.kernel, f.env, f.agents) in undefined

    return [finding for finding in findings if not follows(finding)]


def _where(place: Place, other: Place | None) -> str:
    """Place of the other access, seen from this one."""
    if other is None or other == place:
        return "at the same line"
    return f"at line {other.line}" if other.file == place.file else f"at {other}"


def _verb(write: int, atomic: int, past: bool = False) -> str:
    if atomic:
        return "updated atomically" if past else "updates atomically"
    return ("wrote" if past else "writes") if write else ("read" if past else "reads")


def _race(native: Any, element: str, where: str, region: Any) -> tuple[str, str, str]:
    now, before = _verb(native.write, native.atomic), _verb(native.other_write, native.other_atomic, past=True)
    # the other agent, of this env or another
    if native.env == native.other_env:
        who, between = f"agent {native.other_thread}", "with no barrier between"
    else:
        who, between = f"agent {native.other_thread} of env {native.other_env}", "in the same launch"
    # values, where they tell more
    values = ""
    if native.same:
        values = "; the value stayed the same"
    elif native.write and native.other_write and not (native.atomic or native.other_atomic):
        values = "; the values differ"
    message = f"agent {native.thread} {now} {element}, which {who} {before} {where}, {between}{values}"
    if native.same:
        return "race", message, "this is harmless; it is clearer if one agent writes"
    return "race", message, _race_advice(native)


def _race_advice(native: Any) -> str:
    if native.env != native.other_env:
        return "give each env its own part, or use atomics if the order does not matter"
    if native.atomic or native.other_atomic:
        return "put sync_env() between the plain access and the atomic one, or make both atomic"
    if native.write and native.other_write:
        return "use an atomic operation such as atomicAdd, or let one agent do it after sync_env()"
    return "put sync_env() between the write and the read; where agents compete, do both in one atomic operation"


def _advice_to_turns(native: Any) -> str:
    apart = "or put one of the two into another kernel: agents that take turns have no sync_env()"
    if native.atomic or native.other_atomic:
        return f"make both atomic, {apart}"
    if native.write and native.other_write:
        return "use an atomic operation such as atomicAdd, or let one agent do it in another kernel"
    return f"where agents compete, do both in one atomic operation, {apart}"


def _out_of_bounds(native: Any, element: str, where: str, region: Any) -> tuple[str, str, str]:
    bounds = "far from any" if region is None else "out of its bounds"
    message = f"agent {native.thread} {_verb(native.write, native.atomic)} {element}, {bounds}"
    return "out-of-bounds", message, "check the index against the array's declared shape"


def _other_env(native: Any, element: str, where: str, region: Any) -> tuple[str, str, str]:
    message = f"agent {native.thread} {_verb(native.write, native.atomic)} {element}, which is env {native.other_env}'s"
    return (
        "other-env",
        message,
        "start indices at env_id() or agent_index(); declare a kernel that accesses other envs with "
        "Kernel(..., own_env_only=False)",
    )


def _unwritten(native: Any, element: str, where: str, region: Any) -> tuple[str, str, str]:
    reads = f"agent {native.thread} {_verb(native.write, native.atomic)} {element}"
    if region.kind == SHARED:
        return (
            "unwritten",
            f"{reads}, which no agent of the env has written in this launch",
            "write it and call sync_env() before it is read: shared memory starts with arbitrary contents",
        )
    if region.scratch:
        return (
            "unwritten",
            f"{reads}, which no agent has written in this launch",
            "write it before it is read, or declare the array without scratch=True: what an earlier launch left in "
            "scratch means nothing",
        )
    return (
        "unwritten",
        f"{reads}, which has not been written",
        "write it in the reset kernel, or declare the array with an initial value",
    )


def _unguarded(native: Any, element: str, where: str, region: Any) -> tuple[str, str, str]:
    message = f"a thread writes {element}, although it has no agent or its env skips this launch"
    return "guard", message, "begin the kernel with `if (!is_active()) return;`"


def _stale(native: Any, element: str, where: str, region: Any) -> tuple[str, str, str]:
    verb = _verb(native.write, native.atomic)
    message = f"agent {native.thread} {verb} {element}, which the reset left as it was in the previous episode"
    return "reset", message, "write it in the reset kernel, or declare the array with on_reset='initial' or 'keep'"


def _undefined(native: Any, element: str, where: str, region: Any) -> tuple[str, str, str]:
    message, advice = explain(native.undefined, element if region is not None else "an address")
    return "undefined", f"agent {native.thread} {message}", advice


def _repeated(native: Any, element: str, where: str, region: Any) -> tuple[str, str, str]:
    before = " before" if where.endswith("same line") else ""
    message = f"agent {native.thread} draws the same random numbers as {where}{before}"
    if native.same:
        return "random", message, "unless you want the same draw twice, make Random::env() once and pass it on"
    return "random", message, "make one Random, and pass it on by reference"


def _read_only(native: Any, element: str, where: str, region: Any) -> tuple[str, str, str]:
    message = f"agent {native.thread} writes {element}, which is read-only for kernels"
    return "read-only", message, "leave it to the world or the caller, or declare your own array"


def _passed_by(native: Any, element: str, where: str, region: Any) -> tuple[str, str, str]:
    message = f"agent {native.thread} has continued past the barrier at line {native.barrier}, where others wait"
    return "barrier", message, SAME_BRANCHES
