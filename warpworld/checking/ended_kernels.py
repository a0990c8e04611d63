"""Finding that a check makes at its end: why a kernel was ended."""

from __future__ import annotations

from collections.abc import Iterator

from warpworld.checking.branches import SAME_BRANCHES, branch_of
from warpworld.checking.checked_world import CheckedWorld
from warpworld.checking.findings import Finding
from warpworld.checking.native import STOPPED
from warpworld.checking.places import Place
from warpworld.managers.cpu import ErrorCode


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
