"""What objects show of themselves in a notebook, in place of a line: small tables and pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from warpworld.drawing import Drawing
from warpworld.report.canvas import paint
from warpworld.report.numbers import shown
from warpworld.report.pages import escaped
from warpworld.report.palette import ROLES, colour_table

if TYPE_CHECKING:
    from warpworld.checking.findings import Report
    from warpworld.runs import Run
    from warpworld.world import World

PICTURE_SIZE = 240  # pixels of the longer side of an env's picture
CURVE_WIDTH = 720  # pixels of a learning curve, at most
MOST_ARRAYS = 10  # of a world, in its table


def world_html(world: World) -> str:
    """Groups and arrays of a world, and once it has been reset a picture of env 0, if its environment draws itself."""
    groups = [
        (group.name, f"{group.size}", f"{group.observation}", f"{group.action}") for group in world.groups.values()
    ]
    arrays = [
        (array.name, f"{array.dtype}{f' {array.shape}' if array.shape else ''}", array.per, array.doc)
        for array in world.environment.arrays()
    ]
    tables = _table(("group", "agents", "sees", "does"), groups)
    if arrays:
        tables += _table(("array", "type", "per", "meaning"), arrays[:MOST_ARRAYS])
    if len(arrays) > MOST_ARRAYS:
        tables += f"<p>and {len(arrays) - MOST_ARRAYS} more arrays</p>"
    return _card(repr(world).strip("<>"), _picture_of(world) + tables)


def run_html(run: Run) -> str:
    """How far a run has come: mean returns, steps, checkpoints, and its learning curve if there is one."""
    from warpworld.report.sections import RETURN
    from warpworld.runs.run_data import read_run

    data = read_run(run)
    total = data.config.trainer["total_env_steps"]
    rows = [("env steps", f"{int(data.last('env_steps') or 0):,} of {total:,}")]
    for name in data.config.policy:
        returns = data.numbers(RETURN.format(name))
        first, last = (returns[0], returns[-1]) if returns else (None, None)
        rows.append((f"{name}: mean return", f"{shown(last)}, {shown(first)} at first"))
    rows.append(("checkpoints", ", ".join(f"{iteration:,}" for iteration in data.checkpoints) or "none"))
    rows += [("damaged", message) for message in data.damaged]
    return _card(repr(run).strip("<>"), _table((), rows) + _curve(run.curve_path))


def report_html(report: Report) -> str:
    """The findings of a check, one a row, with what to do about each; then how much of each kernel ran."""
    rows = [
        (f"{finding.place}", f"note: {finding.kind}" if finding.note else finding.kind, finding.message, finding.advice)
        for finding in report.findings
    ]
    table = _table(("place", "kind", "what happens", "what to do"), rows) if rows else ""
    lines = [report.stopped, *map(str, report.not_followed), *map(str, report.coverage)]
    return _card(report.summary, table + "".join(f"<p>{escaped(line)}</p>" for line in lines if line))


def drawing_png(drawing: Drawing, groups: Iterable[str] | None = None, size: int = PICTURE_SIZE) -> bytes:
    """A drawing as a picture in the colours of a light page.

    Args:
        drawing: what to paint.
        groups: names of the agent groups, in order; None takes the names that its marks use, in the order of the marks.
        size: longer side, pixels.
    """
    named = _colours_named(drawing) if groups is None else groups
    colours = {name: light for name, (light, _) in colour_table(named).items()}
    scale = size / max(drawing.width, drawing.height)
    width, height = (max(round(side * scale), 1) for side in (drawing.width, drawing.height))
    return _png(paint(drawing, width, height, colours))


def _colours_named(drawing: Drawing) -> list[str]:
    """What a drawing's colours are called that are neither a role nor ``#rrggbb``: groups, as far as it knows."""
    used = (getattr(mark, name) for mark in drawing.marks for name in mark.colours)
    return list(dict.fromkeys(name for name in used if name and name not in ROLES and not name.startswith("#")))


def _picture_of(world: World) -> str:
    from warpworld.adapters.rendering import arrays_of

    drawing = world.environment.draw(arrays_of(world, 0)) if world.data.sealed else None
    return "" if drawing is None else _image(drawing_png(drawing, world.groups), "env 0")


def _curve(path: Path) -> str:
    """A learning curve made small, since a notebook is saved with all that it shows."""
    if not path.is_file():
        return ""
    with Image.open(path) as opened:
        curve = opened.convert("RGB")
    curve.thumbnail((CURVE_WIDTH, CURVE_WIDTH))
    return _image(_png(curve.quantize(64)), "learning curve")


def _png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def _image(png: bytes, what: str) -> str:
    return f'<img alt="{escaped(what)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'


def _card(heading: str, body: str) -> str:
    return f"<div><p><b>{escaped(heading)}</b></p>{body}</div>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Escaped cells, to the left as text is read."""
    top = "".join(f'<th style="text-align: left">{escaped(head)}</th>' for head in heads)
    lines = ("".join(f'<td style="text-align: left">{escaped(cell)}</td>' for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>{f'<tr>{top}</tr>' if heads else ''}{body}</table>"
