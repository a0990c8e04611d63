"""Pictures of envs as they stand, for ``render()``."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from warpworld.errors import DeclarationError
from warpworld.world import World
from warpworld.world.env_arrays import arrays_of

SIZE = 400  # pixels of a picture's longer side


def check_render_mode(mode: str | None) -> None:
    """Refuse a way to render that there is none of.

    Raises:
        DeclarationError: it is neither None nor "rgb_array".
    """
    if mode not in (None, "rgb_array"):
        raise DeclarationError(f"render_mode={mode!r}: expected 'rgb_array' or None")


def rendered(world: World, mode: str | None, envs: Iterable[int]) -> tuple[np.ndarray, ...]:
    """A picture of each of these envs.

    Raises:
        DeclarationError: the env was not made to be rendered, or there is no such env.
    """
    if mode is None:
        raise DeclarationError("render(): make the env with render_mode='rgb_array'")
    return tuple(frame(world, env) for env in envs)


def frame(world: World, env: int, size: int = SIZE) -> np.ndarray:
    """Picture of one env: as its Environment draws it, or else the values of its arrays.

    Args:
        world: a world that was reset.
        env: which one.
        size: longer side of the picture, pixels.

    Returns:
        (height, width, 3) uint8.

    Raises:
        DeclarationError: there is no such env.
    """
    from warpworld.drawing import ArrayDrawer, colour_table, paint

    if not 0 <= env < world.num_envs:
        raise DeclarationError(f"render(): env {env}, expected 0 to {world.num_envs - 1}")
    arrays = arrays_of(world, env)
    drawing = world.environment.draw(arrays) or ArrayDrawer([arrays]).draw(arrays)
    scale = size / max(drawing.width, drawing.height)
    width, height = (max(round(side * scale), 1) for side in (drawing.width, drawing.height))
    colours = {name: light for name, (light, _) in colour_table(world.groups).items()}
    return np.asarray(paint(drawing, width, height, colours))
