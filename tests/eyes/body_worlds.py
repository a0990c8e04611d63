"""Worlds of bodies among walls, and what a step makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.toys import agents, environment
from warpworld import Array, Kernel, World

SOURCE = Path(__file__).parent / "bodies.cu"
STEPS_AT_A_TIME = 200
WALLS = 3  # of an env
RULES = dict(seconds=0.1, restitution=0.0, joint_length=0.5, joint_force=60.0, drag=0.0, substeps=2)


@dataclass
class Scene:
    """Bodies of one env, and walls: the middle and half the size of each."""

    position: Any
    shape: Any
    mass: Any = None
    walls: list[tuple[float, float, float, float]] = field(default_factory=list)
    corners: Any = ((0.0, 0.0), (6.0, 6.0))
    middle: float = -1.0
    uphill: Any = None  # of each body, see uphill_along() in <bodies.cuh>


def body_world(
    scenes: Sequence[Scene], kernel: str = "move", num_workers: int | None = None, climbers: int = 0, **rules: Any
) -> World:
    """A sealed world with one env for each scene, whose step moves all bodies. The first ``climbers`` climb ramps."""
    envs, bodies = len(scenes), len(scenes[0].position)
    walls = np.zeros((envs, WALLS, 4), np.float32)
    for env, scene in enumerate(scenes):
        walls[env, : len(scene.walls)] = np.array(scene.walls, np.float32).reshape(-1, 4)
    masses = [np.ones(bodies) if scene.mass is None else scene.mass for scene in scenes]
    constants = {"bodies": bodies, "walls": WALLS, "steps_at_a_time": STEPS_AT_A_TIME, "climbers": climbers}
    uphill = [np.zeros(bodies) if scene.uphill is None else scene.uphill for scene in scenes]

    def state(name: str, dtype: str, shape: tuple[int, ...], initial: Any) -> Array:
        return Array(name, dtype, shape, per="env", initial=initial, on_reset="keep")

    def given(name: str, values: Any) -> Array:
        initial = np.asarray(values, np.float32)
        return Array(name, "float32", initial.shape[1:], per="env", initial=initial, read_only=True, on_reset="keep")

    arrays = [
        state("position", "float32", (bodies, 2), np.array([scene.position for scene in scenes])),
        state("velocity", "float32", (bodies, 2), 0.0),
        state("force", "float32", (bodies, 2), 0.0),
        given("shape", [scene.shape for scene in scenes]),
        given("mass", masses),
        given("corners", [scene.corners for scene in scenes]),
        given("middle", [scene.middle for scene in scenes]),
        given("walls", walls),
        state("held", "int32", (bodies,), -1),
        state("locked", "int32", (bodies,), 0),
        state("level", "int32", (bodies,), 0),
        state("uphill", "int32", (bodies,), np.array(uphill, np.int32)),
        state("least_gap", "float64", (), np.inf),
        state("most_energy", "float64", (), -1.0),
        state("most_momentum", "float64", (), 0.0),
        *(
            state(name, "int32", (), 0)
            for name in ("touches", "crossings", "broken", "moved_locks", "raised", "landed")
        ),
    ]
    declared = environment(
        SOURCE,
        arrays,
        [agents(1)],
        {**constants, **RULES, "fastest": 100.0, **rules},
        phases=[Kernel(kernel, threads_per_env=(1, 1))],
        resets=(),
        compile_time=tuple(constants),
    )
    world = World(declared, envs, device="cpu", num_workers=num_workers)
    world.reset()
    return world


def moved(scene: Scene, velocity: Any, steps: int = 1, **rules: Any) -> World:
    """The world of one scene after some steps."""
    world = body_world([scene], **rules)
    world["velocity"][:] = torch.as_tensor(velocity, dtype=torch.float32)
    for _ in range(steps):
        world.step()
    return world


def sizes(shape: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Half sizes (..., 2) of boxes and radii (...) of discs; 0 for the others."""
    is_disc = shape[..., 1] == 0.0
    return np.where(is_disc[..., None], 0.0, shape), np.where(is_disc, shape[..., 0], 0.0)


def gaps(p: np.ndarray, half: np.ndarray, radius: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Metres between shapes at p and points at q; half sizes and radii of both are added."""
    return np.hypot(*np.moveaxis(np.maximum(np.abs(p - q) - half, 0.0), -1, 0)) - radius


def random_scene(random: np.random.Generator, bodies: int, half_room: float, with_wall: bool) -> Scene:
    """Discs and boxes of several sizes and masses that do not overlap, with a wall from edge to edge or without."""
    walls = [(0.0, 0.0, 0.05, half_room), (0.6 * half_room, 0.0, 0.2 * half_room, 0.05)] if with_wall else []
    position, shape = np.zeros((0, 2)), np.zeros((0, 2))
    while len(position) < bodies:
        size = random.uniform(0.1, 0.4, 2) if random.random() < 0.5 else [random.uniform(0.1, 0.4), 0.0]
        if random.random() < 0.2:
            size = [0.08, 0.7]  # a wall that can be moved
        spread = half_room if with_wall else 2.0
        new = random.uniform(-spread, spread, 2)
        others = np.concatenate([position, [wall[:2] for wall in walls] or np.zeros((0, 2))])
        other_shapes = np.concatenate([shape, [wall[2:] for wall in walls] or np.zeros((0, 2))])
        (half, radius), (own_half, own_radius) = sizes(other_shapes), sizes(np.array(size))
        wide = own_half + own_radius
        if (half_room - np.abs(new) - wide < 1e-3).any():
            continue
        if len(others) and gaps(new, half + own_half, radius + own_radius, others).min() < 1e-3:
            continue
        position, shape = np.concatenate([position, [new]]), np.concatenate([shape, [size]])
    mass = random.choice([0.3, 1.0, 5.0, 40.0], bodies)
    if with_wall:
        mass[0] = np.inf
    corners = (-half_room, -half_room), (half_room, half_room)
    return Scene(position, shape, mass, walls, corners, 0.0 if with_wall else -100.0)


def random_scenes(seed: int, envs: int, bodies: int = 6) -> list[Scene]:
    """Every other one is a tight arena with walls; the others are open."""
    random = np.random.default_rng(seed)
    return [random_scene(random, bodies, *((2.5, True) if env % 2 else (45.0, False))) for env in range(envs)]
