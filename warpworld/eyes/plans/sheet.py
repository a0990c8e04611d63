"""A contact sheet: many plans on one picture, each with its scale, and what the colours mean."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from warpworld.drawing import SMOOTH, Drawing, colour_table, font, paint, write_whole
from warpworld.eyes.plans.from_above import FLOORS, LAMP, SLAB, draw_plan
from warpworld.eyes.plans.plan import Plan

MOST = 64  # plans on a sheet
TILE, GAP, CAPTION, LEGEND = 240, 12, 18, 22  # pixels
LENGTHS = (1, 2, 5, 10, 20, 50)  # metres, of which a scale shows the first that is long enough
SHORTEST = 24  # pixels of a scale
EXPLAINED = (
    (LAMP, "light, larger where it is brighter"),
    (SLAB, "walls and furniture"),
    (FLOORS[0], "rooms by colour"),
)


def write_sheet(plans: Sequence[Plan], path: str | Path) -> Path:
    """Write the first 64 plans as a PNG, each as large as fits its tile, with its scale and its name below.

    Returns:
        ``path``.

    Raises:
        RunError: it cannot be written.
    """
    # an empty sheet
    shown = plans[:MOST]
    columns = min(max(math.ceil(math.sqrt(len(shown))), 1), 8)
    rows = math.ceil(len(shown) / columns)
    colours = {name: light for name, (light, _) in colour_table([]).items()}
    across, down = TILE + GAP, TILE + CAPTION + GAP
    sheet = Image.new("RGB", (columns * across + GAP, rows * down + GAP + LEGEND), colours["paper"])
    # a tile for each plan
    for i, plan in enumerate(shown):
        corner = GAP + i % columns * across, GAP + i // columns * down
        drawing = draw_plan(plan)
        sheet.paste(paint(drawing, TILE, TILE, colours), corner)
        sheet.paste(_caption(plan.name, drawing, colours), (corner[0], corner[1] + TILE))
    # the legend, and the file
    sheet.paste(_legend(sheet.width, colours), (0, sheet.height - LEGEND))
    content = io.BytesIO()
    sheet.save(content, "PNG")
    return write_whole(Path(path), content.getvalue())


def _caption(text: str, drawing: Drawing, colours: dict[str, str]) -> Image.Image:
    """A plan's scale, and its name."""
    image = Image.new("RGB", (TILE * SMOOTH, CAPTION * SMOOTH), colours["paper"])
    draw, letters, middle = ImageDraw.Draw(image), font(12 * SMOOTH), CAPTION * SMOOTH / 2
    metre = TILE * SMOOTH / max(drawing.width, drawing.height)
    length = next((length for length in LENGTHS if length * metre >= SHORTEST * SMOOTH), LENGTHS[-1])
    end = length * metre
    draw.line([(0, middle), (end, middle)], fill=colours["muted"], width=2 * SMOOTH)
    draw.text((end + 4 * SMOOTH, middle), f"{length} m", fill=colours["muted"], font=letters, anchor="lm")
    draw.text((TILE * SMOOTH, middle), text, fill=colours["muted"], font=letters, anchor="rm")
    return image.reduce(SMOOTH)


def _legend(width: int, colours: dict[str, str]) -> Image.Image:
    """Legend of the colours, as far as the sheet is wide enough."""
    image = Image.new("RGB", (width * SMOOTH, LEGEND * SMOOTH), colours["paper"])
    draw, letters, middle, x = ImageDraw.Draw(image), font(12 * SMOOTH), LEGEND * SMOOTH / 2, GAP * SMOOTH
    dot = 5 * SMOOTH
    for colour, text in EXPLAINED:
        end = x + 3 * dot + draw.textlength(text, letters)
        if end > image.width:
            break
        draw.ellipse([x, middle - dot, x + 2 * dot, middle + dot], fill=colour)
        draw.text((x + 3 * dot, middle), text, fill=colours["ink"], font=letters, anchor="lm")
        x = round(end) + 2 * GAP * SMOOTH
    return image.reduce(SMOOTH)
