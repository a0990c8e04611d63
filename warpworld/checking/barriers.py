"""Races that one missing barrier explains, as one finding.

A race of two lines can be fixed by a barrier anywhere between them. Where one place lies between the two lines of
several races, a barrier there fixes them all, and they are reported as one.

Only lines of the kernel itself count, those from which the racing functions are called. A barrier inside a function
would also be met where the function is called elsewhere.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from warpworld.checking.findings import Finding, Place

_BARRIER = re.compile(r"^(?:(?!//).)*\b(sync_env|__sync\w+)\s*\(")  # not in a comment
MOST_PAIRS = 3  # of lines that a message names


@dataclasses.dataclass(frozen=True)
class _Gap:
    """A race, and where a barrier would fix it: after line ``first`` and before line ``last`` of its kernel."""

    race: Finding
    file: str
    first: int
    last: int
    has_barrier: bool  # so what is missing is one behind the last line, from where a loop comes back to the first

    @property
    def kind(self) -> tuple[str, str, bool]:
        """What those have in common that one barrier can fix."""
        return self.race.kernel, self.file, self.has_barrier


def joined(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings with one for each barrier that is missing; the others as they are."""
    findings = list(findings)
    competing = {(f.kernel, f.array) for f in findings if f.place == f.other and not f.note}
    gaps = [gap for f in findings if (f.kernel, f.array) not in competing and (gap := _gap(f)) is not None]
    groups = [group for group in _fixed_together(gaps) if len(group) > 1 and not all(g.race.note for g in group)]
    of_group = {id(gap.race): group for group in groups for gap in group}
    for finding in findings:
        group = of_group.get(id(finding))
        if group is None:
            yield finding
        elif finding is _first(group):
            yield _joined(group)


def _gap(finding: Finding) -> _Gap | None:
    """Where a barrier would fix a race; None where none would, as between envs or where agents compete at a line."""
    if finding.kind != "race" or len(finding.sites) != 2:
        return None
    sites = finding.sites
    if sites[0] == sites[1] and finding.other is not None:  # both in one function that the kernel calls
        sites = (finding.place, finding.other)
    (one, other), files = sorted(site.line for site in sites), {site.file for site in sites}
    if one == other or len(files) > 1:
        return None
    (file,) = files
    return _Gap(finding, file, one, other, any(one <= line <= other for line in _barriers(file)))


@functools.lru_cache(maxsize=16)
def _barriers(file: str) -> tuple[int, ...]:
    """The lines of a file that call a barrier."""
    lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    return tuple(number for number, line in enumerate(lines, 1) if _BARRIER.search(line))


def _fixed_together(gaps: list[_Gap]) -> Iterator[list[_Gap]]:
    """Groups of gaps with a place that lies in all of them, as few as there can be."""
    rest = sorted(gaps, key=lambda gap: gap.last)
    while rest:
        at = rest[0]
        group = [gap for gap in rest if gap.kind == at.kind and gap.first < at.last]
        rest = [gap for gap in rest if gap not in group]
        yield group


def _first(group: list[_Gap]) -> Finding:
    """The race that stands for its group: one that does harm."""
    return min(group, key=lambda gap: (gap.race.note, gap.race.place.file, gap.race.place.line)).race


def _joined(group: list[_Gap]) -> Finding:
    reported = _first(group)
    others = sorted((gap.race for gap in group if gap.race is not reported), key=lambda race: _key(_pair(race)))
    pairs = list(dict.fromkeys(map(_pair, others)))
    shown = [f"{_short(one, reported)} and {_short(other, reported)}" for one, other in pairs[:MOST_PAIRS]]
    if len(pairs) > MOST_PAIRS:
        shown.append(f"{len(pairs) - MOST_PAIRS} more")
    words = f"{reported.message}; without the same barrier these lines race too: {', '.join(shown)}"
    if group[0].has_barrier:
        where = f"after line {max(gap.last for gap in group)} too, before the loop repeats"
    else:
        where = f"between lines {max(gap.first for gap in group)} and {min(gap.last for gap in group)}"
    advice = f"put sync_env() {where}: it orders all of them"
    return dataclasses.replace(reported, message=words, advice=advice, also=tuple(pairs))


def _pair(race: Finding) -> tuple[Place, Place]:
    assert race.other is not None
    one, other = sorted((race.place, race.other), key=lambda place: (place.file, place.line))
    return one, other


def _key(pair: tuple[Place, Place]) -> tuple[Any, ...]:
    return tuple((place.file, place.line) for place in pair)


def _short(place: Place, reported: Finding) -> str:
    return str(place.line) if place.file == reported.place.file else f"{Path(place.file).name}:{place.line}"
