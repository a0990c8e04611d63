"""The results as a Markdown table, printed or put into a page."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from warpworld.errors import RunError
from warpworld.runs.files import replace_text

from .arms import ARMS
from .exam import Counts
from .results import Results

BEGIN, END = "<!-- megastep-ablation: written by the program -->", "<!-- megastep-ablation: end -->"
GOOD = 2.0  # times what a random agent hits, which is when somebody has begun to learn
NONE = "-"

Multiple = tuple[float, float]  # and its standard error

HEADINGS = (
    "arm",
    "M env steps",
    "hits at random",
    "hits",
    "times random",
    "kills",
    "deaths",
    "deaths at random",
    "share of damage",
    f"{GOOD:g} x after",
    "hits by common rules",
    "times random",
)


def multiple(of: dict[str, float], random: dict[str, float]) -> Multiple:
    """How many times as often as a random agent somebody hits, with the standard error of that ratio."""
    if not random["hits"]:
        return math.nan, math.nan
    ratio = of["hits"] / random["hits"]
    parts = [of["hits_error"] / random["hits"], ratio * random["hits_error"] / random["hits"]]
    return ratio, math.hypot(*parts)


def reached(arm: dict[str, Any]) -> dict[str, Any] | None:
    """The first checkpoint at which the multiple is ``GOOD``, or None."""
    return next((point for point in arm["curve"] if multiple(point, arm["random"])[0] >= GOOD), None)


def table(results: Results) -> str:
    """One line for each arm, in Markdown."""
    lines = [HEADINGS, ("---", *["---:"] * (len(HEADINGS) - 1)), *(_line(name, arm) for name, arm in results.items())]
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
    try:
        before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    except OSError as error:
        raise RunError(f"{page} cannot be read: {error.strerror}") from error
    _, end, after = rest.partition(END)
    if not end:
        raise RunError(f"{page} has no place for the table, expected the lines {BEGIN} and {END}")
    replace_text(page, f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def _line(name: str, arm: dict[str, Any]) -> tuple[str, ...]:
    random, final, good = arm["random"], arm["curve"][-1], reached(arm)
    common = NONE, NONE
    if arm["common"]:
        common = f"{arm['common']['hits']:.1f}", _with_error(multiple(arm["common"], arm["common_random"]))
    return (
        f"`{name}`: {ARMS[name].says}",
        f"{arm['env_steps'] / 1e6:.2f}",
        f"{random['hits']:.1f}",
        f"{final['hits']:.1f}",
        _with_error(multiple(final, random)),
        f"{final['kills']:.2f}",
        f"{final['deaths']:.2f}",
        f"{random['deaths']:.2f}",
        f"{_counts(final).share:.2f}",
        f"{good['seconds']:.0f} s, {good['env_steps'] / 1e6:.2f} M" if good else NONE,
        *common,
    )


def _with_error(value: Multiple) -> str:
    return f"{value[0]:.2f} ± {value[1]:.2f}"


def _counts(point: dict[str, float]) -> Counts:
    return Counts(*(point[name] for name in ("hits", "hits_error", "taken", "kills", "deaths")))


def _conditions(results: Results) -> str:
    """Where and when, of each kind once."""
    arms = list(results.values())
    lengths = sorted({arm["minutes"] for arm in arms})
    seeds = sorted({arm["seed"] for arm in arms})
    dates = sorted({arm["date"] for arm in arms})
    commits = sorted({str(arm["commit"])[:7] for arm in arms})
    devices = sorted({arm["device"] for arm in arms})
    return (
        f"{_listed(f'{minutes:g}' for minutes in lengths)} minutes of training on one core each, seed "
        f"{_listed(map(str, seeds))}; {_listed(devices)}, {_listed(dates)}, commit {_listed(commits)}."
    )


def _listed(values: Any) -> str:
    return ", ".join(values)
