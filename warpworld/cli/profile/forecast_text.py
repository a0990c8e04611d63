"""A forecast as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from warpworld.cli.profile.forecast import Forecast, Line, totals
from warpworld.cli.profile.rates import Rates
from warpworld.text import print_columns

HEAD = ["part", "policy", "nodes", "node", "blocks x threads", "kB read", "kB written", "MFLOP", "least us"]


def show(found: Forecast, rates: Rates) -> None:
    """Print equal nodes as one line, with what each of them needs and the time of all; then the sum of each part."""
    rows = [HEAD]
    for part in found.parts():
        lines = found.of(part)
        rows += [_row(line) for line in lines] + [_sum(lines)]
    print_columns(rows)
    speed = found.env_steps / found.seconds
    print(
        f"\n{1e6 * found.seconds:,.1f} us for {found.env_steps:,} env steps at least, {speed:,.0f} env steps/s at "
        f"most, with {rates.copy / 1e12:g} TB/s and {rates.float32 / 1e12:g} TFLOP/s in float32"
    )
    print("- what it takes to start a node, and nodes that fill no device, come on top of that")
    unknown = sorted({line.node.name for line in found.lines if not line.node.is_known})
    if unknown:
        print(f"- bytes of {', '.join(unknown)} are not known, and count for nothing")


def _row(line: Line) -> list[str]:
    node = line.node
    moved = [f"{node.read / 1e3:,.1f}", f"{node.written / 1e3:,.1f}"] if node.is_known else ["", ""]
    flop = f"{node.flop / 1e6:,.2f}" if node.flop else ""
    what = line.part.name, line.part.policy, f"{line.count:,}", node.name, node.grid
    return [*what, *moved, flop, f"{1e6 * line.seconds:,.2f}"]


def _sum(lines: Sequence[Line]) -> list[str]:
    count, read, written, flop, seconds = totals(lines)
    sums = f"{read / 1e3:,.1f}", f"{written / 1e3:,.1f}", f"{flop / 1e6:,.2f}" if flop else "", f"{1e6 * seconds:,.2f}"
    return [lines[0].part.name, lines[0].part.policy, f"{count:,}", "in all", "", *sums]


def as_json(found: Forecast) -> dict[str, Any]:
    """All of it; bytes and operations are those of one node of a line, seconds those of all."""
    return {
        "env_steps": found.env_steps,
        "seconds": found.seconds,
        "nodes": [
            {"part": line.part.name, "policy": line.part.policy, "count": line.count, "seconds": line.seconds}
            | asdict(line.node)
            for line in found.lines
        ],
    }
