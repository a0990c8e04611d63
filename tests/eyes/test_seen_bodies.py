"""What lidar and cameras make of boxes and of discs of several sizes, against float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.eyes.body_worlds import WALLS, Scene, random_scenes, sizes
from tests.eyes.raycast_oracle import FACETS, bodies
from tests.toys import agents, environment
from warpworld import Array, Kernel, World

SOURCE = Path(__file__).parent / "seen_bodies.cu"
RAYS = 64


def stepped(
    kernel: str, num_agents: int, envs: int, constants: dict[str, int], arrays: dict[str, Any], *made: Array
) -> World:
    """A world after one step of a kernel, which reads ``arrays`` (envs, ...)."""
    given = [
        Array(name, "float32", np.shape(values)[1:], per="env", initial=np.asarray(values, np.float32), on_reset="keep")
        for name, values in arrays.items()
    ]
    declared = environment(
        SOURCE,
        [*given, *made],
        [agents(num_agents)],
        {**constants, "tan_half_fov": 1.0},
        phases=[Kernel(kernel, threads_per_env=(1, 64))],
        resets=(),
        compile_time=tuple(constants),
    )
    world = World(declared, envs, device="cpu")
    world.reset()
    world.step()
    return world


# ---- lidar -----------------------------------------------------------------------------------------------------------
def to_lines(origin: np.ndarray, rays: np.ndarray, rectangle: np.ndarray) -> np.ndarray:
    """Metres along each ray to the first of the four sides of a rectangle (low x, low y, high x, high y)."""
    x, y, right, top = rectangle
    found = np.full(len(rays), np.inf)
    for axis, at, low, high in ((0, x, y, top), (0, right, y, top), (1, y, x, right), (1, top, x, right)):
        with np.errstate(divide="ignore", invalid="ignore"):
            way = (at - origin[axis]) / rays[:, axis]
            across = origin[1 - axis] + way * rays[:, 1 - axis]
        found = np.where((way >= 0) & (across >= low) & (across <= high), np.minimum(found, way), found)
    return found


def to_disc(origin: np.ndarray, rays: np.ndarray, middle: np.ndarray, radius: float) -> np.ndarray:
    """The same to a disc, by the roots of a quadratic equation."""
    half_b = rays @ (origin - middle)
    discriminant = half_b**2 - ((origin - middle) ** 2).sum() + radius**2
    way = -half_b - np.sqrt(np.maximum(discriminant, 0))
    return np.where((discriminant > 0) & (way >= 0), way, np.inf)


def expected_echoes(scene: Scene, rays: np.ndarray) -> np.ndarray:
    """(things, rays) float64: to the edge and the walls, and then to each body but the first."""
    position, shape = (np.asarray(values, np.float32).astype(float) for values in (scene.position, scene.shape))
    origin, (half, radius) = position[0], sizes(shape)
    walls = np.array(scene.walls, np.float32).astype(float).reshape(-1, 4)
    rectangles = [np.concatenate(scene.corners), *(np.concatenate([w[:2] - w[2:], w[:2] + w[2:]]) for w in walls)]
    still = np.min([to_lines(origin, rays, rectangle) for rectangle in rectangles], 0)
    ways = [still]
    for at, size, r in zip(position[1:], half[1:], radius[1:], strict=True):
        box = np.concatenate([at - size, at + size])
        ways.append(to_disc(origin, rays, at, r) if r else to_lines(origin, rays, box))
    return np.array(ways)


def test_lidar_measures_walls_boxes_and_discs() -> None:
    scenes = random_scenes(9, 24)
    turns = 2 * np.pi * (np.arange(RAYS) + 0.123) / RAYS
    rays = np.stack([np.cos(turns), np.sin(turns)], 1).astype(np.float32)
    rays[[0, 16, 32, 48]] = [[1, 0], [0, 1], [-1, 0], [0, -1]]
    walls = np.zeros((24, WALLS, 4))
    for env, scene in enumerate(scenes):
        walls[env, : len(scene.walls)] = np.array(scene.walls).reshape(-1, 4)
    names = {"position": [s.position for s in scenes], "shape": [s.shape for s in scenes], "walls": walls}
    world = stepped(
        "measure",
        1,
        24,
        {"bodies": 6, "walls": WALLS, "rays": RAYS, "lines": 1, "boxes": 1},
        {**names, "corners": [s.corners for s in scenes]},
        Array("rays", "float32", (RAYS, 2), per="world", initial=rays, read_only=True),
        Array("distance", "float32", (RAYS,), per="env"),
        Array("object", "int32", (RAYS,), per="env"),
        Array("together", "float32", (RAYS, 2), per="env", initial=0.0, on_reset="keep"),
    )
    together, alone = world.data.numpy("together"), [world.data.numpy(name) for name in ("distance", "object")]
    assert (together[:, :-3] == np.stack(alone, -1)[:, :-3]).all() and not together[:, -3:].any()
    met = set()
    for env, scene in enumerate(scenes):
        ways = expected_echoes(scene, rays.astype(float))
        first, second = np.sort(ways, 0)[:2]
        clear = second - first > 1e-3
        thing = ways.argmin(0)
        found, distance = world["object"][env].cpu().numpy(), world["distance"][env].cpu().numpy()
        off = np.abs(distance - first) > 1e-4 * np.maximum(first, 1)
        assert (off & clear).mean() < 0.02  # rays that only graze a disc or a corner
        assert (np.where(thing == 0, -1, thing) == found)[clear & ~off].all()
        met |= set(thing[clear].tolist())
    assert met == set(range(6))


# ---- cameras ---------------------------------------------------------------------------------------------------------
def lines_of(middle: np.ndarray, half: np.ndarray) -> np.ndarray:
    """The sides of a box, (4, 4)."""
    corners = middle + half * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    return np.concatenate([corners, np.roll(corners, -1, 0)], 1)


def test_a_camera_sees_boxes_as_walls_and_agents_of_several_widths() -> None:
    random, envs = np.random.default_rng(5), 30
    at = np.concatenate([np.zeros((envs, 1, 2)), random.uniform([1, -4], [6, 4], (envs, 2, 2))], 1).astype(np.float32)
    width = random.uniform(0.1, 1.0, (envs, 3)).astype(np.float32)
    boxes = np.concatenate([random.uniform([1, -4], [8, 4], (envs, 2, 2)), random.uniform(0.1, 0.8, (envs, 2, 2))], 2)
    boxes[:6, 0] = [0.5, 0.25, 2.0, 1.5]  # around the camera, which sees the side that is hidden from outside
    lines = np.repeat(np.array([[[9.0, -20.0, 9.0, 20.0]]]), envs, 0)
    world = stepped(
        "see",
        3,
        envs,
        {"bodies": 1, "walls": 1, "rays": RAYS, "lines": 1, "boxes": 2},
        {"lines": lines, "boxes": boxes},
        Array("agents", "float32", (2,), initial=at, on_reset="keep"),
        Array("width", "float32", initial=width, on_reset="keep"),
        Array("depth", "float32", (RAYS,), per="env"),
        Array("seen", "int32", (RAYS,), per="env"),
    )
    across = (RAYS - 2 * np.arange(RAYS) - 1) / RAYS
    kinds = set()
    for env in range(envs):
        facets = [bodies(at[env].astype(float), np.zeros(3), float(w))[i] for i, w in enumerate(width[env]) if i]
        sides = [lines_of(box[:2].astype(np.float32), box[2:].astype(np.float32)) for box in boxes[env]]
        all_lines = np.concatenate([*facets, lines[env], *sides])
        objects = np.repeat([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], [FACETS, FACETS, *[1] * 9])
        a, along = all_lines[:, :2], all_lines[:, 2:] - all_lines[:, :2]
        with np.errstate(all="ignore"):
            between = along[:, 1] - across[:, None] * along[:, 0]
            depth = (a[:, 0] * along[:, 1] - a[:, 1] * along[:, 0]) / between
            t = (a[:, 0] * across[:, None] - a[:, 1]) / between
        depth = np.where((depth > 0) & (t >= 0) & (t <= 1), depth, np.inf) * np.hypot(1, across)[:, None]
        is_near_an_end = ((np.minimum(np.abs(t), np.abs(1 - t)) < 1e-4) & np.isfinite(t)).any(1)
        found = world["seen"][env].cpu().numpy()
        assert (found == objects[depth.argmin(1)])[~is_near_an_end].all()
        assert world["depth"][env].cpu().numpy()[~is_near_an_end] == pytest.approx(
            depth.min(1)[~is_near_an_end], rel=1e-4
        )
        kinds |= set(found.tolist())
    assert {1, 2, 3, *range(4, 8)} < kinds and kinds & set(range(8, 12))
