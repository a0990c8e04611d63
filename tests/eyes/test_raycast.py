"""What cameras see, against brute force in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.eyes.arenas import BOX, RADIUS, arena, places, stacked
from tests.eyes.raycast_oracle import look
from tests.toys import agents, environment
from warpworld import Array, Kernel, World
from warpworld.eyes.plans import Plan, homes

SOURCE = Path(__file__).parent / "raycast.cu"
WIDTH = 0.15  # of a body, metres
SEEN = ("object", "facet", "depth", "along", "facing")


def camera_world(
    arenas: list[np.ndarray],
    position: Any,
    angle: Any,
    rays: int,
    fov: float,
    threads: int | tuple[int, int] | None = (1, 128),
) -> World:
    """A world that has looked around once from ``position`` (envs, agents, 2) and ``angle`` (envs, agents)."""
    walls, counts = stacked(arenas)
    constants = {"most_walls": walls.shape[1], "rays": rays}
    scalars = {"tan_half_fov": float(np.tan(np.radians(fov) / 2)), "width": WIDTH}
    arrays = [
        Array("position", "float32", (2,), initial=0.0),
        Array("angle", "float32", initial=0.0),
        *(Array(name, "int32", (rays,)) for name in SEEN[:2]),
        *(Array(name, "float32", (rays,)) for name in SEEN[2:]),
        Array("walls", "float32", walls.shape[1:], per="env", initial=walls, read_only=True, on_reset="keep"),
        Array("num_walls", "int32", per="env", initial=counts, read_only=True, on_reset="keep"),
    ]
    declared = environment(
        SOURCE,
        arrays,
        [agents(np.shape(position)[1])],
        {**constants, **scalars},
        phases=[Kernel("look_around", threads_per_env=threads)],
        resets=(),
        compile_time=tuple(constants),
    )
    world = World(declared, len(arenas), device="cpu")
    world.reset()
    world["position"][:] = torch.as_tensor(position)
    world["angle"][:] = torch.as_tensor(angle)
    world.step()
    return world


def scenes(envs: int, num_agents: int, seed: int = 1) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Two homes, an arena without outer walls and closed ones, and where agents stand and look in them, in float32."""
    random, rooms = np.random.default_rng(seed), homes(seed, 2)
    arenas = [arena(0)[len(BOX) :], *(arena(seed) for seed in range(envs - 3))]
    position = [_anywhere(plan, num_agents, random) for plan in rooms]
    position += [places(walls, num_agents, random) for walls in arenas]
    walls = [*(plan.walls.reshape(-1, 4).astype(np.float64) for plan in rooms), *arenas]
    angle = random.uniform(-np.pi, np.pi, (envs, num_agents))
    return walls, np.stack(position).astype(np.float32), angle.astype(np.float32)


OPEN = 2  # which of the scenes has no outer walls


def _anywhere(plan: Plan, count: int, random: np.random.Generator) -> np.ndarray:
    """Places of a home, apart from each other: (count, 2)."""
    cells = np.argwhere(plan.cells_clear_of_walls(RADIUS))
    chosen = cells[random.choice(len(cells), count, replace=False)]
    return plan.centres(chosen) + random.uniform(-0.04, 0.04, (count, 2))


@pytest.mark.parametrize("fov", [10.0, 70.0, 130.0, 179.0])
@pytest.mark.parametrize("rays", [1, 64, 511])
def test_rays_meet_what_float64_has(rays: int, fov: float) -> None:
    """All rays but those that pass an end of a line within a ten-thousandth of a degree, which are few."""
    arenas, position, angle = scenes(24, 3)
    world = camera_world(arenas, position, angle, rays, fov)
    seen = {name: world.data.numpy(name) for name in SEEN}
    grazing = 0
    assert [len(walls) > 60 for walls in arenas] == [True, True] + [False] * 22
    missed = seen["object"] == -1
    assert np.array_equal(missed, np.isinf(seen["depth"]))
    assert not np.delete(missed, OPEN, axis=0).any()
    assert missed[OPEN].any() and (rays == 1 or fov < 70.0 or not missed[OPEN].all())
    for env, walls in enumerate(arenas):
        for self in range(3):
            expected = look(walls, *(x[env].astype(np.float64) for x in (position, angle)), self, rays, fov, WIDTH)
            clear = expected.margin > np.radians(1e-4)
            grazing += (~clear).sum()
            found = {name: values[env, self][clear] for name, values in seen.items()}
            assert np.array_equal(found["object"], expected.object[clear])
            is_agent = expected.facet[clear] >= 0
            assert np.array_equal(found["facet"][is_agent], expected.facet[clear][is_agent])
            assert np.allclose(found["depth"], expected.depth[clear], rtol=1e-4)
            hit = expected.object[clear] >= 0
            assert np.allclose(found["along"][hit], expected.along[clear][hit], atol=1e-3)
            assert np.allclose(found["facing"][hit], expected.facing[clear][hit], atol=1e-3)
    assert grazing <= 1e-3 * position.shape[0] * 3 * rays


@pytest.mark.parametrize("threads", [1, 7, 128, 600])
def test_any_number_of_threads_sees_the_same(threads: int) -> None:
    arenas, position, angle = scenes(6, 3)
    one, other = (camera_world(arenas, position, angle, 200, 100.0, n) for n in (None, threads))
    for name in SEEN:
        assert np.array_equal(one.data.numpy(name), other.data.numpy(name))


def test_the_left_is_on_the_left() -> None:
    """From the middle of a box 5 m wide, looking along +x with 90 degrees: rays meet x = 6 at evenly spaced places."""
    world = camera_world([BOX], [[[3.5, 3.5]]], [[0.0]], 5, 90.0)
    depth, along = world.data.numpy("depth")[0, 0], world.data.numpy("along")[0, 0]
    across = np.array([0.8, 0.4, 0.0, -0.4, -0.8])
    assert np.array_equal(world.data.numpy("object")[0, 0], [2] * 5)  # one agent, and then the second wall
    assert depth == pytest.approx(2.5 * np.hypot(1.0, across), rel=1e-6)
    assert along == pytest.approx(0.5 + 0.5 * across, abs=1e-6)
    assert world.data.numpy("facing")[0, 0] == pytest.approx(1.0 / (1.0 + across**2), abs=1e-5)


def test_nothing_is_seen_in_the_open() -> None:
    behind = np.array([(0.0, 0.0, 0.0, 5.0)])
    world = camera_world([behind], [[[1.0, 1.0]]], [[0.0]], 7, 179.0)
    assert (world.data.numpy("object") == -1).all()
    assert np.isinf(world.data.numpy("depth")).all()


def test_a_wall_is_seen_however_close_it_is() -> None:
    """At half a disc's radius, where a near plane as far away as a disc's radius would make it transparent."""
    close = BOX[1, 0] - 0.5 * RADIUS
    world = camera_world([BOX], [[[close, 3.0]]], [[0.0]], 65, 170.0)
    assert (world.data.numpy("object") == 2).sum() == 65
    assert world.data.numpy("depth").min() == pytest.approx(0.5 * RADIUS, rel=1e-4)


def test_a_body_shows_its_front_to_whom_it_faces() -> None:
    """Facet 2 is the front; seen straight on it is as wide as the octagon's facet, from the front of the body."""
    world = camera_world([BOX], [[[2.0, 3.0], [4.0, 3.0]]], [[0.0, np.pi]], 201, 20.0)
    assert (world.data.numpy("object")[0, :, 100] == [1, 0]).all()
    assert (world.data.numpy("facet")[0, :, 100] == 2).all()
    assert world.data.numpy("depth")[0, 0, 100] == pytest.approx(2.0 - WIDTH / 2, rel=1e-5)
