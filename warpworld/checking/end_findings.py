"""Findings that a check makes at its end: what resets left, and why a kernel was ended."""

from __future__ import annotations

from collections.abc import Iterator

from warpworld.checking.accesses import SAME_BRANCHES, element_name
from warpworld.checking.branches import branch_of
from warpworld.checking.checked_world import CheckedWorld
from warpworld.checking.findings import Finding
from warpworld.checking.native import STOPPED
from warpworld.checking.places import Place
from warpworld.managers.cpu import ErrorCode


def left_by_resets(checked: CheckedWorld, seen: list[Finding]) -> Iterator[Finding]:
    """Findings on bytes that resets left: observations, which policies read; as notes, others that no kernel read."""
    resets = [name for name in checked.kernels.values() if name in checked.resets]
    stale = {finding.array for finding in seen if finding.kind == "reset"}
    for name, (offset, step) in checked.left.items():
        if name in stale:
            continue
        observed = name in checked.observations
        index = checked.accesses.index_of(name, offset)
        element = element_name(checked.world.data, name, index)
        yield Finding(
            kind="reset",
            place=checked.accesses.kernel_line(resets[-1]),
            message=f"kernel '{resets[-1]}' leaves {element} as "
            + ("it was, and policies read it" if observed else "the previous episode left it"),
            advice="write every observation in the reset kernel: it is the first of the new episode"
            if observed
            else 'no kernel has read it since; declare the array with on_reset="keep" if that is intended',
            note=not observed,
            kernel=resets[-1],
            array=name,
            index=index,
            env=index[0],
            step=step,
        )


def ended(checked: CheckedWorld, seen: list[Finding]) -> Iterator[Finding]:
    """Finding that says why a kernel was ended, unless the access that caused it is reported already."""
    stopped = checked.stopped
    if stopped is None or stopped.code == STOPPED:
        return
    # causes that are reported already
    place = Place(stopped.file, stopped.line)
    if any(finding.kind == "out-of-bounds" and finding.place == place for finding in seen):
        return
    if any(finding.kind == "undefined" and finding.kernel == stopped.kernel for finding in seen):
        return  # its stack may be overwritten
    # the end itself, at a barrier or by a fault
    meets = stopped.code in (ErrorCode.DIVERGED, ErrorCode.DEADLOCK)
    advice = SAME_BRANCHES if meets else "fix this fault first; the check stopped here"
    yield Finding(
        kind="barrier" if meets else "fault",
        place=(branch_of(checked.accesses.sources, place) if meets else None) or place,
        message=f"kernel '{stopped.kernel}', env {stopped.env}, agent {stopped.agent}: {stopped.text}",
        advice=advice,
        kernel=stopped.kernel,
        env=stopped.env,
        agents=(stopped.agent,),
        step=checked.backend.world_step,
    )
