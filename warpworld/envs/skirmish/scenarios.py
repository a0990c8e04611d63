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
)
_SIDE = r"(?:\d+[A-Za-z])+"
_SCENARIO = re.compile(rf"({_SIDE})(?:_vs_({_SIDE}))?")


@dataclass(frozen=True)
class Scenario:
    """Kinds of the allies and of the enemies, as places in ``KINDS``."""

    allies: tuple[int, ...]
    enemies: tuple[int, ...]


def scenario_of(name: str) -> Scenario:
    """Read a name such as "2s3z", with which both sides are equal, or "5m_vs_6m".

    Raises:
        DeclarationError: it is no such name, knows no such kind, or has too many units.
    """
    match = _SCENARIO.fullmatch(name)
    if match is None:
        raise DeclarationError(
            f"scenario={name!r}: expected numbers of units such as 2s3z, or both sides as in 5m_vs_6m."
            f"{suggest(name, NAMED)} SMAX's: {', '.join(NAMED)}"
        )
    allies = _side(name, match.group(1))
    enemies = _side(name, match.group(2)) if match.group(2) else allies
    if len(allies) + len(enemies) > MAX_THREADS_PER_ENV:
        raise DeclarationError(
            f"scenario={name!r}: {len(allies) + len(enemies)} units, expected {MAX_THREADS_PER_ENV} at most"
        )
    return Scenario(allies, enemies)


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
