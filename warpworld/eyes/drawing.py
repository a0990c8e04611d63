"""Draws an env in a floor plan: the home from above with its walls as lit, agents, and what they see."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from warpworld.drawing import Arrowheads, Discs, Drawing, Image, Mark, Rectangles, Segments, Wedges
from warpworld.eyes.plans import LINE_WIDTH, PlanSet, draw_plan

BODY = 0.106  # metres, the radius that touches walls
VIEW = 1.0  # metres that a field of view reaches in the picture
CAMERAS = ("observations_rgb", "observations_depth", "observations_agents")  # from the top
SIGHT = 12.0  # width of a camera's strip, in its heights, beside a picture that it is not part of
STRIP, GAP = 0.05, 0.015  # heights, of the view's
MOST_STRIPS = 4  # agents whose views are shown; more would leave no room for the plan
SHADES = 12  # of a wall's colour; more cannot be distinguished at this size


def draw_indoor(
    plans: PlanSet,
    arrays: Mapping[str, np.ndarray],
    colours: Sequence[str],
    fov: float,
    over_walls: Sequence[Mark] = (),
    over_agents: Sequence[Mark] = (),
    cameras: Sequence[float] = (0.0,),
) -> Drawing:
    """Draw one env at one step.

    Args:
        plans: of the environment.
        arrays: the env's part of ``plan``, ``positions`` and ``angles``, and of what cameras see, if there are any:
            ``observations_rgb``, ``observations_depth`` and ``observations_agents``.
        colours: of the agents, by their groups' names.
        fov: of their cameras, degrees.
        over_walls: marks above the walls and below the agents.
        over_agents: marks above the agents.
        cameras: where an agent's cameras look, degrees to the left of its heading; empty where it has none.
    """
    # the plan, and places of agents
    number = int(arrays["plan"])
    home = _home(plans, number)
    x, y = np.asarray(arrays["positions"], dtype=float).T
    heading = np.radians(np.asarray(arrays["angles"], dtype=float))
    # walls, with strips of images below the plan
    left, bottom, right, top = home.view
    strips, height = _strips(arrays, colours, left, bottom, right, STRIP * (top - bottom))
    marks: list[Mark] = [*home.marks, *_lit_walls(plans, number), *over_walls]
    # agents, with what their cameras cover
    for i, colour in enumerate(colours):
        views = heading[i] + np.radians(np.asarray(cameras, dtype=float))
        marks += [
            Wedges(x[i], y[i], VIEW, views, math.radians(fov), fill=colour, opacity=0.25),
            Discs(x[i], y[i], BODY, fill=colour, outline="paper", line_width=0.02),
            Arrowheads(x[i], y[i], 1.4 * BODY, heading[i], fill="paper"),
        ]
    return Drawing((left, bottom - height, right, top), [*marks, *over_agents, *strips], seconds=0.1, places=(x, y))


def draw_sight(arrays: Mapping[str, np.ndarray], agent: int) -> Drawing | None:
    """The strips of one agent's camera alone, each ``SIGHT`` times as wide as it is high; None where it has none.

    Args:
        arrays: the env's part of what cameras see, as of ``draw_indoor``.
        agent: whose camera.
    """
    pictures = _pictures(arrays, agent)
    marks = [Image(0.0, -1.0 - i, SIGHT, 1.0, pixels=pixels) for i, pixels in enumerate(pictures)]
    return Drawing((0.0, -float(len(marks)), SIGHT, 0.0), marks) if marks else None


def _pictures(arrays: Mapping[str, np.ndarray], agent: int) -> list[np.ndarray]:
    """Strips of what an agent's camera shows, from the top, each (1, pixels, 3) uint8."""
    found = []
    for rows in (np.asarray(arrays[name])[agent] for name in CAMERAS if name in arrays):
        pixels = _encoded(rows.T) if len(rows) == 3 else np.repeat(rows.T, 3, axis=1)
        found.append((np.clip(pixels, 0.0, 1.0) * 255.0).astype(np.uint8)[None])
    return found


def texel_stretches(
    plans: PlanSet, plan: int, texels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Stretches of neighbouring texels of a plan.

    Args:
        plans: among them the plan.
        plan: its number.
        texels: (texels,) bool, of all its walls in order.

    Returns:
        x, y, to_x, to_y of each stretch of neighbouring texels on one wall that are set.
    """
    # first texels of the walls
    walls = plans.plans[plan].walls.astype(np.float64)
    first = plans["wall_first_texel"][plans["plan_first_wall"][plan] :][: len(walls) + 1].astype(int)
    first = first - first[0]
    # first texel of each stretch, which ends with its wall at the latest
    begins = texels & ~np.concatenate([[False], texels[:-1]])
    begins[first[:-1]] |= texels[first[:-1]]
    start = np.flatnonzero(begins)
    wall = np.searchsorted(first, start, side="right") - 1
    # the texel behind it
    off = np.flatnonzero(~np.concatenate([texels, [False]]))
    end = np.minimum(off[np.searchsorted(off, start)], first[wall + 1])
    end = np.minimum(end, np.concatenate([start[1:], [len(texels)]]))
    # both as points of the wall
    width = first[wall + 1] - first[wall]
    along = walls[wall, 1] - walls[wall, 0]
    a = walls[wall, 0] + along * ((start - first[wall]) / width)[:, None]
    b = walls[wall, 0] + along * ((end - first[wall]) / width)[:, None]
    return a[:, 0], a[:, 1], b[:, 0], b[:, 1]


@functools.lru_cache(maxsize=64)
def _home(plans: PlanSet, plan: int) -> Drawing:
    """A plan from above, which is the same in every frame of an episode."""
    return draw_plan(plans.plans[plan])


@functools.lru_cache(maxsize=64)
def _lit_walls(plans: PlanSet, plan: int) -> tuple[Mark, ...]:
    """Walls in the mean colour of their texels; those of one shade are one mark."""
    # mean colour of each wall, in few shades
    first, end = plans["plan_first_wall"][plan : plan + 2]
    bounds = plans["wall_first_texel"][first : end + 1].astype(int)
    texels = plans["wall_texels"][bounds[0] : bounds[-1]]
    linear = np.stack([texels & 2047, texels >> 11 & 2047, texels >> 22], 1) / [2047.0, 2047.0, 1023.0]
    means = np.add.reduceat(linear, bounds[:-1] - bounds[0]) / np.diff(bounds)[:, None]
    shades = np.round(_encoded(means) * SHADES).astype(int) * 255 // SHADES
    # walls of each shade
    walls = plans.plans[plan].walls.reshape(-1, 4).astype(np.float64)
    marks = []
    for shade in np.unique(shades, axis=0):
        x, y, to_x, to_y = walls[(shades == shade).all(1)].T
        red, green, blue = shade.tolist()
        colour = f"#{red:02x}{green:02x}{blue:02x}"
        marks.append(Segments(x, y, to_x, to_y, outline=colour, line_width=LINE_WIDTH))
    return tuple(marks)


def _strips(
    arrays: Mapping[str, np.ndarray], colours: Sequence[str], left: float, bottom: float, right: float, height: float
) -> tuple[list[Mark], float]:
    """Strips of what the cameras of the first agents show, below the plan, and the height of all of them.

    A camera's row of pixels shows colours, and below them nearness and shares of other agents as far as it has them.
    """
    marks: list[Mark] = []
    if not any(name in arrays for name in CAMERAS):
        return marks, 0.0
    gap, width = GAP / STRIP * height, right - left
    top = bottom
    for i, colour in enumerate(colours[:MOST_STRIPS]):
        top -= gap
        pictures = _pictures(arrays, i)
        tall = len(pictures) * height
        marks.append(Rectangles(left, top - tall, 0.6 * gap, tall, fill=colour))
        for pixels in pictures:
            top -= height
            marks.append(Image(left + gap, top, width - gap, height, pixels=pixels))
    return marks, bottom - top + gap


def _encoded(linear: np.ndarray) -> np.ndarray:
    """Linear light as screens want it."""
    return np.clip(linear, 0.0, 1.0) ** (1.0 / 2.2)
