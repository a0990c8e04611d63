"""The short table at the end of a run: how every part ended, and what was to be reached."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .floors import PART, label_of, speeds_with_floors
from .numbers import short
from .part import FAILED
from .targets import TARGETS

WIDTH = 130


def print_summary(results: dict[str, Any]) -> None:
    """Print it; at most some 40 lines."""
    about = f"{results['device'] or 'no device'}, commit {str(results['commit'])[:10]}, {results['date']}"
    quick = "; quick: these sizes measure nothing" if results["quick"] else ""
    table = Table(title=f"GPU suite: {about}{quick}", width=WIDTH)
    table.add_column("part", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("s", justify="right", no_wrap=True)
    table.add_column("found", no_wrap=True, overflow="ellipsis", ratio=1)
    for name, part in results["parts"].items():
        table.add_row(name, part["status"], f"{part.get('seconds', 0):.0f}", escape(_found(part)))
    Console(width=WIDTH).print(table)
    if not results["quick"]:
        _print_targets(results)
        _print_floors(results)
        _print_limit(results)


def _found(part: dict[str, Any]) -> str:
    """The headline, or for what did not pass the last line of why."""
    if not part["reason"]:
        return part["figures"].get("headline", "")
    lines = part["reason"].strip().splitlines()
    return lines[-1] if part["status"] == FAILED and "Traceback" in part["reason"] else lines[0]


def _print_targets(results: dict[str, Any]) -> None:
    found = [(target, value) for target in TARGETS if (value := target.measured(results)) is not None]
    if not found:
        return
    table = Table(title="what was to be reached", width=WIDTH)
    table.add_column("target")
    for name in ("wanted", "measured", ""):
        table.add_column(name, justify="right")
    for target, value in found:
        sign = ">=" if target.at_least else "<="
        met = "reached" if target.is_met(value) else "missed"
        table.add_row(target.label, f"{sign} {target.wanted:g} {target.unit}", f"{value:.3g}", met)
    Console(width=WIDTH).print(table)


def _print_floors(results: dict[str, Any]) -> None:
    """Each speed beside the most that the card's rates allow."""
    found = [(name, row) for name, row in speeds_with_floors(results) if name != "scaling"]
    if not found:
        return
    table = Table(title=f"floors, by {results['parts'][PART]['figures']['headline']}", width=WIDTH)
    table.add_column("work")
    for name in ("env steps/s", "floor", "by", "share"):
        table.add_column(name, justify="right")
    for name, row in found:
        speeds = short(row["env_steps_per_s"]), short(row["floor_env_steps_per_s"])
        table.add_row(escape(label_of(name, row)), *speeds, row["floor_by"], f"{row['share']:.2%}")
    Console(width=WIDTH).print(table)


def _print_limit(results: dict[str, Any]) -> None:
    """How far worlds with eyes are from what the card's arithmetic allows, or why nobody knows."""
    figures = results["parts"].get("eyes", {}).get("figures", {})
    shares = {row["world"]: share for row in figures.get("rows", []) if (share := row["limit_share"]) is not None}
    said = [f"of the arithmetic limit of a view: {_listed(shares)}"] if shares else []
    if "limit" in figures:
        Console(width=WIDTH).print(escape("; ".join([*said, figures["limit"]])), highlight=False)


def _listed(shares: dict[str, float]) -> str:
    return ", ".join(f"{world} {share:.1%}" for world, share in shares.items())
