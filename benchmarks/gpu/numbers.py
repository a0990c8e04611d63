"""Large numbers for people: three digits and a unit."""

from __future__ import annotations

UNITS = ((1e15, " P"), (1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k"))


def short(number: float) -> str:
    """Three digits, with a unit from a thousand on: 2.5e6 is "2.5 M"."""
    for factor, unit in UNITS:
        if number >= factor:
            return f"{number / factor:.3g}{unit}"
    return f"{number:.3g}"
