"""What the block Hits says of each ray, beside an oracle; and what the movement blocks say of each step."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.eyes.blocks.block_worlds import FORWARD, NOTHING, act, made, place
from tests.eyes.raycast_oracle import look
from warpworld.eyes.blocks import IMU, Hits, MomentumMovement, RandomSpawns, SimpleMovement

CAMERAS = (0.0, 150.0)
BOX = {"plans": "box", "res": 32, "fov": 100.0}  # walls at 1 m and 6 m


@pytest.mark.long
def test_rays_meet_what_an_oracle_meets() -> None:
    world = made(SimpleMovement(), RandomSpawns(), Hits(), IMU(), num_envs=8, agents=3, cameras=CAMERAS)
    plans = world.environment.params.plan_set
    walls, first = plans.plans[0].walls.reshape(-1, 4).astype(np.float64), plans["wall_first_texel"].astype(int)
    met = np.zeros(3, int)
    act(world, NOTHING, NOTHING, NOTHING)
    names = ("hit_object", "hit_texel", "hit_along", "hit_distance")
    found = {name: world.data.numpy(name).reshape(8, 3, 2, -1) for name in names}
    for env, agent, at in np.ndindex(8, 3, 2):
        positions = world.data.numpy("positions")[env].astype(np.float64)
        angles = np.radians(world.data.numpy("angles")[env].astype(np.float64))
        angles[agent] += np.radians(CAMERAS[at])  # an agent does not see its own body, so that it may turn
        rays = found["hit_object"].shape[-1]
        seen = look(walls, positions, angles, agent, rays, world.environment.params.fov, 0.15)
        sure = seen.margin > 1e-4
        here = {name: values[env, agent, at] for name, values in found.items()}
        assert np.array_equal(here["hit_object"][sure], seen.object[sure])
        assert np.allclose(here["hit_distance"][sure], seen.depth[sure], atol=1e-3)
        assert np.allclose(here["hit_along"][sure], seen.along[sure], atol=2e-3)
        is_wall = here["hit_object"] >= 3
        assert (here["hit_texel"][~is_wall] == -1).all()
        wall, texel = here["hit_object"][is_wall] - 3, here["hit_texel"][is_wall]
        width = first[wall + 1] - first[wall]
        expected = first[wall] + np.minimum((here["hit_along"][is_wall] * width).astype(int), width - 1)
        assert np.array_equal(texel, expected)
        met += [(~is_wall & (here["hit_object"] >= 0)).sum(), is_wall.sum(), (~sure).sum()]
    assert met[0] > 20 and met[1] > 500 and met[2] < 200


@pytest.mark.long
def test_a_ray_that_meets_nothing_is_at_no_place_and_infinitely_far() -> None:
    world = made(SimpleMovement(), RandomSpawns(), Hits(), IMU(), num_envs=1, agents=3, cameras=CAMERAS)
    place(world, [[-20.0, 3.0], [2.0, 2.0], [4.0, 2.0]], [[105.0, 0.0, 0.0]])  # the first looks past the house, outside
    act(world, NOTHING, NOTHING, NOTHING)
    found = {name: world.data.numpy(f"hit_{name}")[0] for name in ("object", "texel", "along", "distance")}
    for name, expected in {"object": -1, "texel": -1, "along": 0.0, "distance": np.inf}.items():
        assert (found[name][0] == expected).all(), name
    assert (found["object"][1:] >= 0).all() and np.isfinite(found["distance"][1:]).all()
    assert (found["along"][1:] > 0.0).any()


@pytest.mark.long
def test_texels_are_counted_from_the_first_of_the_plan() -> None:
    world = made(SimpleMovement(), RandomSpawns(), Hits(), IMU(), num_envs=2, agents=1, plans="homes", num_plans=2)
    plans, found = world.environment.params.plan_set, world.data.numpy("hit_texel")
    for env, plan in enumerate(world.data.numpy("plan")):
        walls = plans["plan_first_wall"][plan] + world.data.numpy("hit_object")[env, 0] - 1
        first = plans["wall_first_texel"].astype(int)
        texel = first[plans["plan_first_wall"][plan]] + found[env, 0]
        assert ((first[walls] <= texel) & (texel < first[walls + 1])).all()
    assert sorted(world.data.numpy("plan")) == [0, 1]


@pytest.mark.long
@pytest.mark.parametrize("movement", [SimpleMovement, MomentumMovement])
def test_a_wall_holds_an_agent_up_and_open_floor_does_not(movement: type) -> None:
    world = made(movement(), RandomSpawns(), IMU(), num_envs=2, agents=2, speed=5.0, **BOX)
    place(world, [[5.7, 2.0], [3.0, 4.0]], [[0.0, 0.0]])
    world["velocity"][..., 0] = 10.0  # what momentum keeps of it; the other block sets its own
    act(world, FORWARD, FORWARD)
    assert torch.equal(world["collided"].cpu(), torch.tensor([[True, False]] * 2))
    speed = 5.0 if movement is SimpleMovement else 0.875 * 10.0 + 0.5
    expected = (0.3 - 0.106066) / (0.1 * speed)
    assert world.data.numpy("progress") == pytest.approx(np.array([[expected, 1.0]] * 2), abs=1e-3)
    act(world, NOTHING, NOTHING)
    assert not world["collided"][:, 1].any() and (world["progress"][:, 1] == 1.0).all()


@pytest.mark.long
def test_those_who_meet_have_both_collided() -> None:
    world = made(SimpleMovement(), RandomSpawns(), IMU(), num_envs=1, agents=2, speed=5.0, **BOX)
    place(world, [[3.0, 3.0], [3.4, 3.0]], [[0.0, 180.0]])
    act(world, FORWARD, FORWARD)
    assert world["collided"].all()
    assert ((world["progress"] > 0.0) & (world["progress"] < 0.5)).all()
