"""A run as a notebook shows it: key figures and its learning curve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from warpworld.drawing import card, image, png_of, table
from warpworld.runs.metrics import RETURN
from warpworld.runs.run_data import read_run
from warpworld.text import shown

if TYPE_CHECKING:
    from warpworld.runs.run import Run

CURVE_WIDTH = 720  # pixels of a learning curve, at most


def run_html(run: Run) -> str:
    """Progress of a run: mean returns, steps, checkpoints, and its learning curve if there is one."""
    data = read_run(run)
    total = data.config.trainer["total_env_steps"]
    rows = [("env steps", f"{int(data.last('env_steps') or 0):,} of {total:,}")]
    for name in data.config.policy:
        returns = data.numbers(RETURN.format(name))
        first, last = (returns[0], returns[-1]) if returns else (None, None)
        rows.append((f"{name}: mean return", f"{shown(last)}, {shown(first)} at first"))
    rows.append(("checkpoints", ", ".join(f"{iteration:,}" for iteration in data.checkpoints) or "none"))
    rows += [("damaged", message) for message in data.damaged]
    return card(repr(run).strip("<>"), table((), rows) + _curve(run.curve_path))


def _curve(path: Path) -> str:
    """A learning curve made small, since a notebook is saved with all that it shows."""
    if not path.is_file():
        return ""
    with Image.open(path) as opened:
        curve = opened.convert("RGB")
    curve.thumbnail((CURVE_WIDTH, CURVE_WIDTH))
    return image(png_of(curve.quantize(64)), "learning curve")
