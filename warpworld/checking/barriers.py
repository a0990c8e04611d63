"""Races that one missing barrier, or one in a branch, explains, as one finding.

A race of two lines can be fixed by a barrier anywhere between them. Where one place lies between the two lines of
several races, a barrier there fixes them all, and they are reported as one.

Where a barrier lies between the two lines already, but in a branch, that branch is the finding.

Only lines of the kernel itself count, those from which the racing functions are called. A barrier inside a function
would also be met where the function is called elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from warpworld.checking.branches import barriers_between, branch_of, in_one_loop
from warpworld.checking.findings import Finding
from warpworld.checking.places import Place
from warpworld.checking.source_tree import Sources

MOST_PAIRS = 3  # of lines that a message names
BRANCH_ADVICE = "move the barrier out of the branch, so that all agents of the env reach it"


@dataclasses.dataclass(frozen=True)
class _Gap:
    """A race, and where a barrier would fix it: after line ``first`` and before line ``last`` of its kernel."""

    race: Finding
    file: str
    first: int
    last: int
    barriers: tuple[int, ...] = ()  # lines between the two; so one is missing where a loop comes back to the first
    branch: Place | None = None  # that a barrier between the two is in

    @property
    def kind(self) -> tuple[str, str, bool]:
        """Key of the races that one barrier can fix."""
        return self.race.kernel, self.file, bool(self.barriers)


def joined(findings: Iterable[Finding], sources: Sources) -> Iterator[Finding]:
    """Findings with one for each barrier that is missing or in a branch, the latter first; the others as they are.

    Args:
        findings: in order.
        sources: the author's files.
    """
    findings = list(findings)
    competing = {(f.kernel, f.array) for f in findings if f.place == f.other and not f.note}
    gaps = [gap for f in findings if (f.kernel, f.array) not in competing and (gap := _gap(f, sources)) is not None]
    findings = list(_with_branches(findings, [gap for gap in gaps if gap.branch is not None], sources))
    gaps = [gap for gap in gaps if gap.branch is None]
    groups = [group for group in _fixed_together(gaps) if len(group) > 1 and not all(g.race.note for g in group)]
    of_group = {id(gap.race): group for group in groups for gap in group}
    for finding in findings:
        group = of_group.get(id(finding))
        if group is None:
            yield finding
        elif finding is _first(group):
            yield _joined(group)


def _with_branches(findings: list[Finding], gaps: list[_Gap], sources: Sources) -> Iterator[Finding]:
    """Findings of barriers first; races across a barrier that is in a branch are a part of one of these."""
    of_branch: dict[tuple[str, Place], list[_Gap]] = defaultdict(list)
    for gap in gaps:
        if gap.branch is not None:
            of_branch[gap.race.kernel, gap.branch].append(gap)
    for finding in findings:
        if finding.kind == "barrier":
            yield _with_races(finding, of_branch.pop((finding.kernel, finding.place), []))
    for (_, branch), group in of_branch.items():
        if not all(gap.race.note for gap in group):
            yield _of_branch(branch, group, sources)
    replaced = {id(gap.race) for gap in gaps}
    yield from (f for f in findings if f.kind != "barrier" and (f.note or id(f) not in replaced))


def _with_races(finding: Finding, group: list[_Gap]) -> Finding:
    """An agent that bypassed a barrier, with the races that it caused."""
    if not group:
        return finding
    pairs = _pairs([gap.race for gap in group])
    message = f"{finding.message}; lines that race because of it: {_shown(pairs, finding)}"
    return dataclasses.replace(finding, message=message, also=pairs)


def _of_branch(branch: Place, group: list[_Gap], sources: Sources) -> Finding:
    """Races across a barrier that is in a branch, as one finding about the branch."""
    race, (file, barrier) = _first(group), (group[0].file, group[0].barriers[0])
    at = f"line {barrier}" if file == branch.file else f"{Path(file).name}:{barrier}"
    pairs = _pairs([gap.race for gap in group])
    reported = dataclasses.replace(race, place=branch)
    return dataclasses.replace(
        reported,
        kind="barrier",
        message=f"kernel '{race.kernel}', env {race.env}: the barrier at {at} is in this branch, and lines "
        f"around it race: {_shown(pairs, reported)}",
        advice=BRANCH_ADVICE
        if not in_one_loop(sources, file, group[0].first, group[0].last)
        else f"{BRANCH_ADVICE}; if they "
        f"all do, put another sync_env() after line {max(gap.last for gap in group)}, before the loop repeats",
        other=Place(file, barrier),
        also=pairs,
    )


def _gap(finding: Finding, sources: Sources) -> _Gap | None:
    """Place of a barrier that would fix a race; None if none would, as between envs or if agents compete at a line."""
    if finding.kind != "race" or len(finding.sites) != 2:
        return None
    # two lines of one file
    sites = finding.sites
    if sites[0] == sites[1] and finding.other is not None:  # both in one function that the kernel calls
        sites = (finding.place, finding.other)
    (one, other), files = sorted(site.line for site in sites), {site.file for site in sites}
    if one == other or len(files) > 1:
        return None
    (file,) = files
    # barriers between them, some of them in branches
    barriers = barriers_between(sources, file, one, other)
    branches = [branch_of(sources, Place(file, line), one, other) for line in barriers]
    if barriers and None not in branches:
        return _Gap(finding, file, one, other, tuple(barriers), branches[0])
    return _Gap(finding, file, one, other, tuple(barriers))


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
    pairs = _pairs([gap.race for gap in group if gap.race is not reported])
    words = f"{reported.message}; without the same barrier these lines race too: {_shown(pairs, reported)}"
    if group[0].barriers:
        where = f"after line {max(gap.last for gap in group)} too, before the loop repeats"
    else:
        where = f"between lines {max(gap.first for gap in group)} and {min(gap.last for gap in group)}"
    advice = f"put sync_env() {where}: it orders all of them"
    return dataclasses.replace(reported, message=words, advice=advice, also=pairs)


def _pairs(races: Iterable[Finding]) -> tuple[tuple[Place, Place], ...]:
    """The pairs of places that race, in order, each once."""
    return tuple(dict.fromkeys(_pair(race) for race in sorted(races, key=lambda race: _key(_pair(race)))))


def _shown(pairs: tuple[tuple[Place, Place], ...], reported: Finding) -> str:
    """The first pairs in words: "4 and 8, 5 and 8, 2 more"."""
    shown = [f"{_short(one, reported)} and {_short(other, reported)}" for one, other in pairs[:MOST_PAIRS]]
    if len(pairs) > MOST_PAIRS:
        shown.append(f"{len(pairs) - MOST_PAIRS} more")
    return ", ".join(shown)


def _pair(race: Finding) -> tuple[Place, Place]:
    assert race.other is not None
    one, other = sorted((race.place, race.other), key=lambda place: (place.file, place.line))
    return one, other


def _key(pair: tuple[Place, Place]) -> tuple[Any, ...]:
    return tuple((place.file, place.line) for place in pair)


def _short(place: Place, reported: Finding) -> str:
    return str(place.line) if place.file == reported.place.file else f"{Path(place.file).name}:{place.line}"
