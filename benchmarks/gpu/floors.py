"""The highest speed of work on a device that copies and multiplies at given rates, and what share is reached.

An env step takes at least as long as its bytes take at the rate of a copy, its products at the rate of a large product,
and its lane operations at half of that rate in float32, whose FLOP are two a lane operation. The longest of the three
is the floor of its time. It is the memory's: a world small enough for a cache may pass it, with a share above 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warpworld.cli.profile.rates import Rates
from warpworld.policies.layers.precision import FLOAT32

from .needs import Needs

PART = "rates"  # of the suite, which measures them


@dataclass(frozen=True)
class Floor:
    """The shortest time of an env step.

    Attributes:
        seconds: of it.
        by: what takes that long: "bytes", "products" or "lanes".
    """

    seconds: float
    by: str

    @property
    def env_steps_per_s(self) -> float:
        """The speed that none passes."""
        return 1.0 / self.seconds


def floor_of(needs: Needs, rates: Rates) -> Floor:
    """The floor of work on a device."""
    product = rates.float32 if needs.precision == FLOAT32 else rates.bf16
    seconds = {
        "bytes": needs.bytes / rates.copy,
        "products": needs.flop / product,
        "lanes": needs.lane_operations / (rates.float32 / 2),
    }
    by = max(seconds, key=lambda name: seconds[name])
    return Floor(seconds[by], by)


def rates_of(results: dict[str, Any]) -> Rates | None:
    """The rates that were measured in a run; None where they were not."""
    figures = results["parts"].get(PART, {}).get("figures", {})
    names = ("copy_bytes_per_s", "float32_flop_per_s", "bf16_flop_per_s")
    return Rates(*(figures[name] for name in names)) if all(name in figures for name in names) else None


def add_floors(results: dict[str, Any]) -> None:
    """Write floors and shares into all rows that say what they need, by the rates of the same run."""
    rates = rates_of(results)
    if rates is None:
        return
    for part in results["parts"].values():
        for row in part["figures"].get("rows", []):
            if row.get("needs") and "env_steps_per_s" in row:
                row.update(columns_of(Needs(**row["needs"]), row["env_steps_per_s"], rates))


def speeds_with_floors(results: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The rows that have a floor, each with the name of its part, but for those of steps launched one by one."""
    rows = [(name, row) for name, part in results["parts"].items() for row in part["figures"].get("rows", [])]
    return [(name, row) for name, row in rows if "share" in row and "eager" not in row.get("column", "")]


def label_of(part: str, row: dict[str, Any]) -> str:
    """A row's name beside those of other parts."""
    if part == "learners":
        return f"{row['config']}: {row['shows']}"
    return f"{row['world']}, {row['num_envs']:,} x {row['agents']}, {row['column']}"


def columns_of(needs: Needs, env_steps_per_s: float, rates: Rates) -> dict[str, Any]:
    """The floor's columns of a row."""
    floor = floor_of(needs, rates)
    return {
        "floor_env_steps_per_s": floor.env_steps_per_s,
        "floor_by": floor.by,
        "share": env_steps_per_s / floor.env_steps_per_s,
    }
