"""Findings that a check makes at its end: what resets left."""

from __future__ import annotations

from collections.abc import Iterator

from warpworld.checking.accesses import element_name
from warpworld.checking.checked_world import CheckedWorld
from warpworld.checking.findings import Finding


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
