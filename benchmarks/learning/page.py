"""The table of docs/results.md, from what ``--save`` wrote: ``python -m benchmarks.learning.page FILE``."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..rows import LearningRow, StartRow, thousands

Kind = TypeVar("Kind", LearningRow, StartRow)
HEAD = "| work | system | one core | two cores | first / it | GFLOP/s of the update |\n|---|---|---|---|---|---|"
STARTS_HEAD = "| `warpworld train` | one core | two cores |\n|---|---|---|"


def page(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: training in env steps/s, and starts in seconds, of rows as they were saved."""
    learnt, started = _read(LearningRow, rows), _read(StartRow, rows)
    lines = [HEAD, *(_line(row, learnt) for row in learnt if row.cores == 1)]
    starts = [STARTS_HEAD, *(_start(row, started) for row in started if row.cores == 1)]
    return "\n\n".join("\n".join(part) for part in (lines, starts) if len(part) > 1)


def _read(kind: type[Kind], rows: Sequence[dict[str, Any]]) -> list[Kind]:
    """Those rows that have all that the kind has."""
    names = [each.name for each in dataclasses.fields(kind)]
    return [kind(**{name: row[name] for name in names}) for row in rows if set(names) <= set(row)]


def _line(row: LearningRow, rows: Sequence[LearningRow]) -> str:
    """A system in a setting; its comparison and its share of a plain product are those of one core."""
    first = next(each for each in rows if each.is_like(row))
    setting = f"{row.update_epochs} epoch{'s' * (row.update_epochs != 1)}, {row.num_envs} x {row.num_steps}"
    speed = f"{row.operations_per_s / 1e9:.0f}, {row.share_of_product:.0%} of a plain product"
    on_two = [dataclasses.replace(each, cores=1) for each in rows if each.system == row.system and each.cores == 2]
    two = next((f"{thousands(each.env_steps_per_s)} k" for each in on_two if each.is_like(row)), "")
    ratio = f"{first.env_steps_per_s / row.env_steps_per_s:.2f}"
    cells = f"{row.world}; {setting}", row.system, f"{thousands(row.env_steps_per_s)} k", two, ratio, speed
    return f"| {' | '.join(cells)} |"


def _start(row: StartRow, rows: Sequence[StartRow]) -> str:
    two = next((f"{each.seconds:.1f} s" for each in rows if (each.config, each.cores) == (row.config, 2)), "")
    return f"| {row.config} | {row.seconds:.1f} s | {two} |"


if __name__ == "__main__":
    print(page(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["rows"]))
