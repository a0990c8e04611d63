"""A world as a notebook shows it: its groups, its arrays and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpworld.drawing import card, drawing_png, image, table
from warpworld.world.env_arrays import arrays_of

if TYPE_CHECKING:
    from warpworld.world.world import World

MOST_ARRAYS = 10  # in the table


def world_html(world: World) -> str:
    """Groups and arrays of a world, and once it has been reset a picture of env 0, if its environment draws itself."""
    # rows of the tables
    groups = [
        (group.name, f"{group.size}", f"{group.observation}", f"{group.action}") for group in world.groups.values()
    ]
    arrays = [
        (array.name, f"{array.dtype}{f' {array.shape}' if array.shape else ''}", array.per, array.doc)
        for array in world.environment.arrays()
    ]
    # tables, with the first arrays only
    tables = table(("group", "agents", "sees", "does"), groups)
    if arrays:
        tables += table(("array", "type", "per", "meaning"), arrays[:MOST_ARRAYS])
    if len(arrays) > MOST_ARRAYS:
        tables += f"<p>and {len(arrays) - MOST_ARRAYS} more arrays</p>"
    # the picture above them
    drawing = world.environment.draw(arrays_of(world, 0)) if world.data.sealed else None
    picture = "" if drawing is None else image(drawing_png(drawing, world.groups), "env 0")
    return card(repr(world).strip("<>"), picture + tables)
