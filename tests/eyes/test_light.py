"""Light on agents: what stands in the arrays of plans, sampled, and how cameras show it, against float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.eyes.floor_oracle import FACET_COLOURS, bilinear
from tests.eyes.raycast_oracle import look
from tests.toys import agents, environment
from warpworld import Array, Kernel, World
from warpworld.eyes.plans import Plan, PlanSet, box, column, homes

SOURCE = Path(__file__).parent / "light.cu"
RES, FOV = 96, 100.0


def screen() -> Plan:
    """A box with a light of intensity 0.5 at (2, 3.5), and a lone wall from (3.5, 3) to (3.5, 4) that shades it."""
    room = box(5)
    return Plan("screen", [*room.walls.tolist(), [[3.5, 3.0], [3.5, 4.0]]], [[2.0, 3.5, 0.5]], room.rooms)


def light_world(plans: PlanSet, plan: np.ndarray, positions: np.ndarray, angles: np.ndarray) -> World:
    """Agents at ``positions`` (envs, agents, 2) who look along ``angles`` (envs, agents), degrees, after one step."""
    constants = {"res": RES, "most_walls": plans.most_walls}
    arrays = [
        *plans.arrays(),
        Array("plan", "int32", per="env", initial=plan, on_reset="keep"),
        Array("positions", "float32", (2,), initial=positions, on_reset="keep"),
        Array("angles", "float32", initial=angles, on_reset="keep"),
        Array("brightness", "float32"),
        Array("rgb", "float32", (3, RES)),
        Array("depth", "float32", (1, RES)),
        Array("met", "int32", initial=0, on_reset="keep"),
    ]
    declared = environment(
        SOURCE,
        arrays,
        [agents(positions.shape[1])],
        {**constants, "tan_half_fov": float(np.tan(np.radians(FOV) / 2))},
        phases=[Kernel("see", threads_per_env=(1, 128))],
        resets=(),
        compile_time=tuple(constants),
    )
    world = World(declared, len(plan), device="cpu")
    world.reset()
    world.step()
    return world


def brightness(plans: PlanSet, plan: int, places: np.ndarray) -> np.ndarray:
    """What kernels read at places (places, 2) of a plan."""
    positions = places.reshape(-1, 2, 2)
    world = light_world(plans, np.full(len(positions), plan), positions, np.zeros(positions.shape[:2]))
    return world.data.numpy("brightness").reshape(-1)


def test_light_between_nodes_is_bilinear() -> None:
    """Everywhere in plans, and around them."""
    plans, random = PlanSet([box(5), column(6), *homes(seed=5, count=2), screen()]), np.random.default_rng(0)
    for plan in range(len(plans)):
        places = random.uniform(-2.0, 20.0, (1000, 2)).astype(np.float32)
        assert brightness(plans, plan, places) == pytest.approx(bilinear(plans, plan, places), abs=2e-5)


def test_light_falls_off_and_shadows_are_dark() -> None:
    """In the open within 2% of full light, but for the knee where light ends to grow; and no light in the shadow."""
    plans, random = PlanSet([screen()]), np.random.default_rng(1)
    places = random.uniform(1.0, 6.0, (4000, 2)).astype(np.float32)
    found, (x, y) = brightness(plans, 0, places), places.T.astype(np.float64)
    squared = (x - 2.0) ** 2 + (y - 3.5) ** 2
    expected = np.minimum(0.1 + 1.0 / np.maximum(squared, 1.0), 1.0)
    edge = (x - 2.0) / 3.0 - np.abs(y - 3.5)  # metres across the way that the shadow reaches beyond, to either side
    shadow, lit = (x > 3.75) & (edge > 0.36), (edge < -0.36) | (x < 3.25)
    assert shadow.sum() > 200 and lit.sum() > 2000
    assert np.abs(found - 0.1)[shadow].max() < 0.51 / 255
    error = np.abs(found - expected)[lit & (x < 5.75) & (y < 5.75)]
    knee = (np.abs(np.sqrt(squared) - 1.05) < 0.4)[lit & (x < 5.75) & (y < 5.75)]
    assert error[~knee].max() < 0.02 and error.max() < 0.1


def test_agents_are_shown_in_the_light_that_falls_on_them() -> None:
    """One agent looks at another, who may look anywhere and be in the shadow: facet, squared cosine and light."""
    plans, random = PlanSet([screen()]), np.random.default_rng(2)
    positions = random.uniform(1.2, 5.8, (150, 2, 2)).astype(np.float32)
    between = positions[:, 1] - positions[:, 0]
    bearing = np.degrees(np.arctan2(between[:, 1], between[:, 0]))
    angles = np.stack([bearing + random.uniform(-40, 40, 150), random.uniform(-180, 180, 150)], axis=1)
    world = light_world(plans, np.zeros(150, np.int32), positions, angles.astype(np.float32))
    rgb, met = world.data.numpy("rgb"), world.data.numpy("met")
    walls, compared, dark, seen_facets = plans["plan_walls"].astype(np.float64), 0, 0, set()
    for env in range(150):
        place, angle = positions[env].astype(np.float64), np.radians(angles[env].astype(np.float32).astype(np.float64))
        light = bilinear(plans, 0, positions[env])
        for self in range(2):
            seen = look(walls, place, angle, self, RES, FOV, 0.15)
            other = seen.object == 1 - self
            assert abs(int(met[env, self]) - other.sum()) <= 2  # a ray at either edge of the other may graze it
            sure = other & (seen.margin > 1e-4)
            expected = (light[1 - self] * seen.facing[:, None] * FACET_COLOURS[seen.facet])[sure]
            assert rgb[env, self].T[sure] == pytest.approx(expected, abs=2e-3)
            compared += sure.sum()
            dark += sure.sum() * (light[1 - self] < 0.11)
            seen_facets |= set(seen.facet[sure].tolist())
    assert compared > 700 and dark > 50
    assert seen_facets == set(range(8))
