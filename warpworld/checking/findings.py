"""Findings of a check, and their report."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from warpworld.checking.coverage import Coverage
from warpworld.checking.outside_state import OutsideState
from warpworld.checking.places import Place
from warpworld.drawing import card, escaped, table


@dataclass(frozen=True)
class Finding:
    """Fault at one place.

    Attributes:
        kind: one of ``KINDS``.
        place: where.
        message: what happens there.
        advice: what to do about it; a sentence.
        note: worth knowing, but harmless.
        kernel: name of the kernel.
        array: name of the array, or of the variable.
        index: of the element: (env, agent, component ...) as the array has these dimensions.
        env: the env that accessed it.
        agents: the agents concerned, the one at ``place`` first.
        writes: for each of them, whether it wrote.
        other: the place of the second of them.
        step: of the world, 0 for the first reset.
        sites: of a race within an env that a barrier could fix: from which lines of the kernel itself the two places
            were reached.
        also: pairs of places that race because the same barrier is missing.
    """

    kind: str
    place: Place
    message: str
    advice: str
    note: bool = False
    kernel: str = ""
    array: str = ""
    index: tuple[int, ...] = ()
    env: int | None = None
    agents: tuple[int, ...] = ()
    writes: tuple[bool, ...] = ()
    other: Place | None = None
    step: int | None = None
    sites: tuple[Place, ...] = ()
    also: tuple[tuple[Place, Place], ...] = ()

    def __str__(self) -> str:
        kind = f"note: {self.kind}" if self.note else self.kind
        return f"{self.place}: {kind}: {self.message}\n    {self.advice}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        place = {"file": self.place.file, "line": self.place.line}
        return {**dataclasses.asdict(self), "place": None, "other": None} | {
            "place": place,
            "other": {"file": self.other.file, "line": self.other.line} if self.other else None,
        }


KINDS = {
    "race": "two agents at one element, at least one of them writing, with no barrier between",
    "out-of-bounds": "an access outside an array",
    "other-env": "an access to another env's part of an array",
    "read-only": "a write to an array that kernels may only read",
    "unwritten": "a read before the first write",
    "reset": "a read of what the previous episode left, or observations that a reset did not write",
    "guard": "a write by a thread that has no agent, or whose env skips the launch",
    "barrier": "agents of one env that wait at different barriers or for each other, or bypass one",
    "fault": "a kernel that was ended: an assertion, a bad address, no end",
    "undefined": "what C++ leaves undefined: a GPU may do something else than a CPU",
    "random": "random numbers that one agent draws twice",
    "not-finite": "NaN or infinity in an array",
    "bounds": "a value outside the array's declared bounds",
    "observation": "an observation outside its declared space",
    "action": "an action outside its declared space that a kernel reads",
    "order": "a result that depends on the order in which agents run",
    "neighbours": "a result that depends on the number of envs or on other envs",
    "packing": "a result that depends on how many envs share a warp",
}


@dataclass(frozen=True)
class Report:
    """The outcome of a check.

    Attributes:
        environment: its name.
        num_envs, steps, seed: what was checked.
        findings: in the order of files and lines; notes among them.
        stopped: why the check ended before its last step, or empty.
        seconds: how long it took, including compilation.
        coverage: how much of each kernel ran, in the order of the file.
        not_followed: variables that keep state outside of the store.
        policies: the run whose policies acted; empty if actions were random.
    """

    environment: str
    num_envs: int
    steps: int
    seed: int
    findings: tuple[Finding, ...] = field(default=())
    stopped: str = ""
    seconds: float = 0.0
    coverage: tuple[Coverage, ...] = ()
    not_followed: tuple[OutsideState, ...] = ()
    policies: str = ""

    @property
    def clean(self) -> bool:
        """Whether there is nothing to fix; notes do not count."""
        return all(finding.note for finding in self.findings)

    @property
    def summary(self) -> str:
        """The number of findings and the settings of the check, in one line."""
        errors = sum(not finding.note for finding in self.findings)
        notes = len(self.findings) - errors
        found = f"{errors} finding{'s' * (errors != 1)}" + (f", {notes} note{'s' * (notes != 1)}" if notes else "")
        acting = f" with the policies of {self.policies}" if self.policies else ""
        how = f"{self.num_envs} envs, {self.steps} steps{acting}, seed {self.seed}"
        return f"{self.environment}: {found} ({how}, {self.seconds:.1f} s)"

    def __str__(self) -> str:
        ran = (f"  {each}" for each in (*self.not_followed, *self.coverage))
        return "\n".join([*map(str, self.findings), self.summary, *filter(None, [self.stopped]), *ran])

    def __repr__(self) -> str:
        return f"<Report {self.summary}>"

    def _repr_html_(self) -> str:
        """A table of the findings in a notebook."""
        rows = [
            (f"{each.place}", f"note: {each.kind}" if each.note else each.kind, each.message, each.advice)
            for each in self.findings
        ]
        body = table(("place", "kind", "what happens", "what to do"), rows) if rows else ""
        lines = [self.stopped, *map(str, self.not_followed), *map(str, self.coverage)]
        return card(self.summary, body + "".join(f"<p>{escaped(line)}</p>" for line in lines if line))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        parts = {name: [each.as_dict() for each in own.pop(name)] for name in ("findings", "coverage", "not_followed")}
        return {**own, "clean": self.clean, **parts}


def distinct(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Keep one finding for each kind, array and place; of several, one that does harm, then a race of two writes.

    One line fixes a missing guard, so only a kernel's first is reported. A line that races for an array may also read
    it before it is written: that is the same race.
    """
    # one finding of each kind at a place
    best: dict[tuple[Any, ...], Finding] = {}
    for finding in findings:
        places = sorted((place.file, place.line) for place in (finding.place, finding.other) if place)
        key = (finding.kind, finding.kernel, finding.array, *places)
        if key not in best or _weight(finding) > _weight(best[key]):
            best[key] = finding
    # findings that a race or an earlier guard explains
    races = [finding for finding in best.values() if finding.kind == "race" and not finding.note]
    raced = {(race.kernel, race.array, place) for race in races for place in (race.place, race.other)}
    guarded: set[str] = set()
    reported = []
    for finding in sorted(best.values(), key=lambda finding: (finding.place.file, finding.place.line, finding.kind)):
        if finding.kind == "unwritten" and (finding.kernel, finding.array, finding.place) in raced:
            continue
        if finding.kind == "guard":
            if finding.kernel in guarded:
                continue
            guarded.add(finding.kernel)
        reported.append(finding)
    return tuple(reported)


def _weight(finding: Finding) -> tuple[bool, int]:
    return not finding.note, sum(finding.writes)
