"""The colours of curves, replays and reports: a series has the same one everywhere."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

# In the order of groups, policies or runs: on white paper, and the lighter variants that are legible on a dark page.
SERIES = ("#2f6fb5", "#d1603d", "#3f8f5b", "#8a5aa8", "#b08a2e", "#5f6b73")
DARK_SERIES = ("#6ea8e6", "#f08a66", "#6cc08b", "#bd93d8", "#d9b65c", "#9aa7b0")
NAMED = {"blue": 0, "orange": 1, "red": 1, "green": 2, "purple": 3}  # of a series that is called so
BESIDE_RED = 4  # of orange where there is also red, whose colour it would share

# What is no series: (on a light page, on a dark one).
ROLES = {
    "paper": ("#ffffff", "#16191c"),
    "ground": ("#f5f6f7", "#1e2226"),
    "grid": ("#e3e6e8", "#30363b"),
    "muted": ("#98a1a8", "#6c767e"),
    "ink": ("#33383d", "#d9dee2"),
    "alarm": ("#c2324a", "#ff7085"),
}


def colour_table(series: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour of each role and of each series by name, as (on a light page, on a dark one).

    Args:
        series: names, such as those of groups, in order; one that is a colour's has it, the others share what is left.
            Beyond six the colours start again.
    """
    names = list(series)
    own = {name: NAMED[name] for name in names if name in NAMED}
    if "red" in own and "orange" in own:
        own["orange"] = BESIDE_RED
    others = itertools.cycle(i for i in range(len(SERIES)) if i not in own.values())
    numbered = {name: own[name] if name in own else next(others) for name in names}
    return {**ROLES, **{name: (SERIES[i], DARK_SERIES[i]) for name, i in numbered.items()}}


def rgb(colour: str) -> tuple[int, int, int]:
    """``#rrggbb`` as three numbers of 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def css_variables() -> str:
    """The colours as CSS variables, ``--ink`` or ``--series-0``, for light pages, dark pages and paper."""
    series = {f"series-{i}": pair for i, pair in enumerate(zip(SERIES, DARK_SERIES, strict=True))}
    light, dark = (" ".join(f"--{name}: {pair[i]};" for name, pair in {**ROLES, **series}.items()) for i in (0, 1))
    return f":root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
