"""A contact sheet: many plans on one picture."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from warpworld.eyes.plans.drawing import draw_plan
from warpworld.eyes.plans.plan import Plan
from warpworld.report.canvas import SMOOTH, font, paint
from warpworld.report.pages import write_whole
from warpworld.report.palette import colour_table

MOST = 64  # plans on a sheet
TILE, GAP, CAPTION = 240, 12, 18  # pixels


def write_sheet(plans: Sequence[Plan], path: str | Path) -> Path:
    """Write the first 64 plans as a PNG, each as large as fits its tile, with its name below.

    Returns:
        ``path``.

    Raises:
        RunError: it cannot be written.
    """
    shown = plans[:MOST]
    columns = min(max(math.ceil(math.sqrt(len(shown))), 1), 8)
    rows = math.ceil(len(shown) / columns)
    colours = {name: light for name, (light, _) in colour_table([]).items()}
    across, down = TILE + GAP, TILE + CAPTION + GAP
    sheet = Image.new("RGB", (columns * across + GAP, rows * down + GAP), colours["paper"])
    for i, plan in enumerate(shown):
        corner = GAP + i % columns * across, GAP + i // columns * down
        sheet.paste(paint(draw_plan(plan), TILE, TILE, colours), corner)
        sheet.paste(_caption(plan.name, colours), (corner[0], corner[1] + TILE))
    content = io.BytesIO()
    sheet.save(content, "PNG")
    return write_whole(Path(path), content.getvalue())


def _caption(text: str, colours: dict[str, str]) -> Image.Image:
    image = Image.new("RGB", (TILE * SMOOTH, CAPTION * SMOOTH), colours["paper"])
    middle = TILE * SMOOTH / 2, CAPTION * SMOOTH / 2
    ImageDraw.Draw(image).text(middle, text, fill=colours["muted"], font=font(12 * SMOOTH), anchor="mm")
    return image.reduce(SMOOTH)
