"""The kinds of units, and scenarios: how many of each kind fight on either side."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpworld.environment import MAX_THREADS_PER_ENV
from warpworld.errors import DeclarationError, suggest


@dataclass(frozen=True)
class Kind:
    """Properties of a kind of units.

    Attributes:
        name: of the kind.
        letter: in the names of scenarios, which are SMAC's.
        speed: map cells a second.
        damage: of a shot, in points of health.
        reach: of a shot, cells.
        sight: how far it sees, cells.
        radius: of its body, cells.
        health: points at the start.
        reload: seconds between shots.
    """

    name: str
    letter: str
    speed: float
    damage: int
    reach: float
    sight: float
    radius: float
    health: float
    reload: float


KINDS = (
    Kind("marine", "m", 3.15, 9, 5.0, 9.0, 0.375, 45.0, 0.61),
    Kind("marauder", "M", 2.25, 10, 6.0, 10.0, 0.5625, 125.0, 1.07),
    Kind("stalker", "s", 4.13, 13, 6.0, 10.0, 0.625, 160.0, 1.87),
    Kind("zealot", "z", 3.15, 8, 2.0, 9.0, 0.5, 150.0, 0.86),
    Kind("zergling", "g", 4.13, 5, 2.0, 8.0, 0.375, 35.0, 0.5),
    Kind("hydralisk", "h", 3.15, 12, 5.0, 9.0, 0.625, 80.0, 0.59),
)
LETTERS = "".join(kind.letter for kind in KINDS)

# Of SMAX. Any other name of this form will do, too.
NAMED = (
    *("3m", "8m", "25m", "2s3z", "3s5z", "5m_vs_6m", "10m_vs_11m", "27m_vs_30m"),
    *("3s_vs_5z", "3s5z_vs_3s6z", "6h_vs_8z"),
    *("smacv2_5_units", "smacv2_10_units", "smacv2_20_units"),
)
_SIDE = r"(?:\d+[A-Za-z])+"
_SCENARIO = re.compile(rf"({_SIDE})(?:_vs_({_SIDE}))?")
_DRAWN = re.compile(r"smacv2_(\d+)(?:_vs_(\d+))?_units")
DRAWN = -1  # in place of a kind: drawn in each episode, as are the starts of both sides


@dataclass(frozen=True)
class Scenario:
    """Kinds of the allies and of the enemies, as places in ``KINDS``; all are ``DRAWN``, or none."""

    allies: tuple[int, ...]
    enemies: tuple[int, ...]

    @property
    def possible_kinds(self) -> tuple[int, ...]:
        """Kinds that units may be of."""
        units = {*self.allies, *self.enemies}
        return tuple(range(len(KINDS))) if DRAWN in units else tuple(sorted(units))


def scenario_of(name: str) -> Scenario:
    """Read a name such as "2s3z", with which both sides are equal, "5m_vs_6m", or "smacv2_5_units".

    Raises:
        DeclarationError: it is no such name, knows no such kind, or has too many units.
    """
    scenario = _drawn(name) or _listed(name)
    if scenario is None:
        raise DeclarationError(
            f"scenario={name!r}: expected numbers of units such as 2s3z, both sides as in 5m_vs_6m, or drawn units"
            f" as in smacv2_5_units.{suggest(name, NAMED)} SMAX's: {', '.join(NAMED)}"
        )
    units = len(scenario.allies) + len(scenario.enemies)
    if units > MAX_THREADS_PER_ENV:
        raise DeclarationError(f"scenario={name!r}: {units} units, expected {MAX_THREADS_PER_ENV} at most")
    return scenario


def _drawn(name: str) -> Scenario | None:
    match = _DRAWN.fullmatch(name)
    if match is None:
        return None
    allies, enemies = (int(number) for number in (match.group(1), match.group(2) or match.group(1)))
    for number in (allies, enemies):
        if not 1 <= number <= MAX_THREADS_PER_ENV:
            raise DeclarationError(f"scenario={name!r}: {number} units, expected 1 to {MAX_THREADS_PER_ENV} on a side")
    return Scenario((DRAWN,) * allies, (DRAWN,) * enemies)


def _listed(name: str) -> Scenario | None:
    match = _SCENARIO.fullmatch(name)
    if match is None:
        return None
    allies = _side(name, match.group(1))
    return Scenario(allies, _side(name, match.group(2)) if match.group(2) else allies)


def _side(name: str, text: str) -> tuple[int, ...]:
    units: list[int] = []
    for number, letter in re.findall(r"(\d+)([A-Za-z])", text):
        if letter not in LETTERS:
            known = ", ".join(f"{kind.letter} ({kind.name})" for kind in KINDS)
            raise DeclarationError(f"scenario={name!r}: '{letter}' is no kind of unit, expected {known}")
        if not 1 <= int(number) <= MAX_THREADS_PER_ENV:
            raise DeclarationError(
                f"scenario={name!r}: {number} units of kind '{letter}', expected 1 to {MAX_THREADS_PER_ENV}"
            )
        units += [LETTERS.index(letter)] * int(number)
    return tuple(units)
