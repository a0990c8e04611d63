"""The results as a Markdown table, printed or put into a page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from warpworld.errors import RunError
from warpworld.files import replace_text

from .arms import ARMS
from .exam import Counts
from .results import Results

BEGIN, END = "<!-- megastep-ablation: written by the program -->", "<!-- megastep-ablation: end -->"
GOOD = 2.0  # times what a random agent hits, which is when somebody has begun to learn
NONE = "-"
FIRST = "published"  # which the others stand beside

ERRORS = 2.0  # standard errors by which somebody may be below another one and is still called as good

Point = dict[str, Any]  # of a curve
Multiple = tuple[float, float]  # and its standard error

HEADINGS = (
    "arm",
    "M env steps",
    "hits at random",
    "hits",
    "times random",
    f"over {GOOD:g} x from",
    "kills (at random)",
    "deaths (at random)",
    "share of damage",
    "hits, common rules",
    "times random, common rules",
    f"as good as `{FIRST}` from",
)


def multiple(of: dict[str, float], random: dict[str, float]) -> Multiple:
    """How many times as often as a random agent somebody hits, with the standard error of that ratio."""
    if not random["hits"]:
        return math.nan, math.nan
    ratio = of["hits"] / random["hits"]
    parts = [of["hits_error"] / random["hits"], ratio * random["hits_error"] / random["hits"]]
    return ratio, math.hypot(*parts)


def reached(arm: dict[str, Any]) -> Point | None:
    """The first checkpoint from which on the multiple by the arm's own rules is ``GOOD`` or more, or None."""
    return _lasting(arm["curve"], lambda point: multiple(point["own"], arm["random"])[0] >= GOOD)


def caught_up(arm: dict[str, Any], first: dict[str, Any] | None) -> Point | None:
    """The first checkpoint from which on it hits as often by the common rules as ``first`` does in the end, or None.

    As often is what is at most ``ERRORS`` standard errors of ``first``'s below.
    """
    if first is None or arm["common_random"] is None:
        return None
    final = first["curve"][-1]["common"]
    enough = final["hits"] - ERRORS * final["hits_error"]
    return _lasting(arm["curve"], lambda point: point["common"]["hits"] >= enough)


def _lasting(curve: list[Point], holds: Callable[[Point], bool]) -> Point | None:
    """The first checkpoint from which on something holds at all, or None: a single one may do so by luck."""
    return next(iter(list(itertools.takewhile(holds, reversed(curve)))[-1:]), None)


def table(results: Results) -> str:
    """One line for each arm, in Markdown."""
    lines = [HEADINGS, ("---", *["---:"] * (len(HEADINGS) - 1)), *_lines(results)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def section(results: Results, picture: str | None = None) -> str:
    """What stands on the page: table, conditions and the picture, if there is one."""
    parts = [table(results), _conditions(results)] if results else ["Not measured yet."]
    if picture:
        parts.insert(0, f"![Hits against opponents that act at random, over the training of each arm]({picture})")
    return "\n\n".join(parts)


def write_into(page: Path, text: str) -> None:
    """Put a text between the markers of a page.

    Raises:
        RunError: the page cannot be read, or has no markers.
    """
    before, after = around(page)
    replace_text(page, f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def around(page: Path) -> tuple[str, str]:
    """What stands before and behind the markers of a page.

    Raises:
        RunError: as ``write_into``.
    """
    try:
        before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    except OSError as error:
        raise RunError(f"{page} cannot be read: {error.strerror}") from error
    _, end, after = rest.partition(END)
    if not end:
        raise RunError(f"{page} has no place for the table, expected the lines {BEGIN} and {END}")
    return before, after


def _lines(results: Results) -> Iterator[tuple[str, ...]]:
    for name, arm in results.items():
        yield f"`{name}`: {ARMS[name].says}", *_own(arm), *_common(arm, results.get(FIRST))


def _own(arm: dict[str, Any]) -> tuple[str, ...]:
    """By the arm's own rules."""
    random, final = arm["random"], arm["curve"][-1]["own"]
    return (
        f"{arm['env_steps'] / 1e6:.2f}",
        f"{random['hits']:.1f}",
        f"{final['hits']:.1f}",
        _with_error(multiple(final, random)),
        _when(reached(arm)),
        f"{final['kills']:.2f} ({random['kills']:.2f})",
        f"{final['deaths']:.2f} ({random['deaths']:.2f})",
        f"{Counts(**final).share:.2f}",
    )


def _common(arm: dict[str, Any], first: dict[str, Any] | None) -> tuple[str, ...]:
    """By the rules that all arms with the published actions have in common."""
    random, final = arm["common_random"], arm["curve"][-1]["common"]
    if random is None:
        return NONE, NONE, NONE
    return f"{final['hits']:.1f}", _with_error(multiple(final, random)), _when(caught_up(arm, first))


def _when(point: Point | None) -> str:
    return f"{point['seconds']:.0f} s, {point['env_steps'] / 1e6:.2f} M" if point else NONE


def _with_error(value: Multiple) -> str:
    return f"{value[0]:.2f} ± {value[1]:.2f}"


def _conditions(results: Results) -> str:
    """Where and when, of each kind once."""

    def listed(key: str, form: str = "") -> str:
        values = ("unknown" if arm[key] is None else arm[key] for arm in results.values())
        return ", ".join(sorted({format(value, form) for value in values}))

    where = f"{listed('device')}, {listed('date')}, commit {listed('commit', '.7')}"
    return f"{listed('minutes', 'g')} minutes of training on one core each, seed {listed('seed')}; {where}."
