"""Explorer's rules, and what it sees, against brute force in float64."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.brute_force import BruteExplorer
from tests.eyes.arenas import RADIUS, distances
from tests.eyes.raycast_oracle import Seen, look
from tests.packaged import packaged
from warpworld import World
from warpworld.envs.explorer.explorer import Explorer
from warpworld.errors import DeclarationError
from warpworld.eyes.plans import PlanSet

SMALL: dict[str, Any] = {"num_plans": 3, "max_rooms": 8, "res": 64, "subsample": 4}
ENVS = 6


@pytest.fixture(scope="module")
def plans() -> dict[str, np.ndarray]:
    """The arrays of the plans that all these worlds have."""
    plan_set = packaged("explorer", 1, **SMALL).environment.params.plan_set
    return {array.name: np.asarray(array.initial) for array in plan_set.arrays()}


def explore(steps: int, seed: int = 0, **params: Any) -> World:
    """A world after some random steps."""
    world = packaged("explorer", ENVS, device="cpu", seed=seed, **{**SMALL, **params})
    world.reset()
    draws = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        world["actions"] = torch.randint(0, 7, tuple(world["actions"].shape), generator=draws, dtype=torch.int32)
        world.step()
    return world


def seen_texels(world: World) -> list[set[int]]:
    """For each env, the texels of its plan whose bits are set."""
    bits = np.unpackbits(world.data.numpy("seen").view(np.uint8), axis=1, bitorder="little")
    return [set(np.flatnonzero(row).tolist()) for row in bits]


class Texels:
    """Which texels rays meet, and what colours those have."""

    def __init__(self, plans: dict[str, np.ndarray], plan: int) -> None:
        first, end = plans["plan_first_wall"][plan : plan + 2]
        self.walls = plans["plan_walls"][first:end].astype(np.float64)
        self.first = plans["wall_first_texel"][first : end + 1] - plans["wall_first_texel"][first]
        whole = plans["wall_texels"][plans["wall_first_texel"][first] : plans["wall_first_texel"][end]]
        self.colors = np.stack([whole & 2047, whole >> 11 & 2047, whole >> 22], 1) / [2047.0, 2047.0, 1023.0]

    def of(self, seen: Seen) -> np.ndarray:
        """The texel of each ray, all of which meet walls; one agent counts before them."""
        wall = seen.object - 1
        width = self.first[wall + 1] - self.first[wall]
        return self.first[wall] + np.minimum((seen.along * width).astype(int), width - 1)

    def sure(self, seen: Seen) -> np.ndarray:
        """Rays that meet the middle of a texel rather than its edge."""
        wall = seen.object - 1
        place = seen.along * (self.first[wall + 1] - self.first[wall])
        return (seen.margin > 1e-5) & (np.abs(place - np.round(place)) > 1e-2)


def views(world: World, plans: dict[str, np.ndarray], rays: int, fov: float = 130.0) -> list[tuple[Texels, Seen]]:
    """What the agent of each env sees from where it is."""
    angle = np.radians(world.data.numpy("angles").astype(np.float64))
    found = []
    for env in range(world.num_envs):
        texels = Texels(plans, int(world.data.numpy("plan")[env]))
        place = world.data.numpy("positions")[env].astype(np.float64)
        found.append((texels, look(texels.walls, place, angle[env], 0, rays, fov, 0.15)))
    return found


def test_what_is_seen_is_marked_and_paid_for(plans: dict[str, np.ndarray]) -> None:
    world = explore(0)
    draws, paid = np.random.default_rng(1), 0
    for _ in range(40):
        before = seen_texels(world)
        world["actions"][:] = torch.as_tensor(draws.integers(0, 7, world["actions"].shape))
        world.step()
        assert not world["terminated"].any()
        for env, (texels, seen) in enumerate(views(world, plans, 64)):
            assert (seen.object >= 1).all()  # a home is closed: every ray meets a wall
            after, sure = seen_texels(world)[env], texels.sure(seen)
            new = after - before[env]
            in_view, surely = set(texels.of(seen).tolist()), set(texels.of(seen)[sure].tolist())
            assert surely <= after
            near = {t + d for t in in_view - surely for d in (-1, 0, 1)}
            assert new <= surely | near
            assert float(world["rewards"][env, 0]) == len(new) / 64
            assert int(world["potential"][env]) == len(after)
            paid += len(new)
    assert paid > 500


def test_the_share_is_of_the_walls_that_can_be_seen(plans: dict[str, np.ndarray]) -> None:
    """From the first look on; all of them are 1, whatever else has been seen."""
    world = explore(0)
    visible = np.unpackbits(world.data.numpy("visible").view(np.uint8), axis=1, bitorder="little").astype(bool)
    for step in range(20):
        bits = np.unpackbits(world.data.numpy("seen").view(np.uint8), axis=1, bitorder="little").astype(bool)
        there = visible[world.data.numpy("plan")]
        expected = (bits & there).sum(1) / there.sum(1)
        assert np.allclose(world.data.numpy("share"), expected, atol=1e-6)
        assert (expected > 0.0).all() and (expected < 1.0).all()
        world["actions"][:] = step % 7
        world.step()
    words = world.data.numpy("visible")[world.data.numpy("plan")].astype(np.int64)
    world["seen"][:] = torch.as_tensor(words).to(world["seen"].dtype)
    world["potential_visible"].copy_(torch.from_numpy(there.sum(1)))
    world.step()
    assert (world.data.numpy("share") == 1.0).all()


def test_pixels_are_means_of_what_rays_meet(plans: dict[str, np.ndarray]) -> None:
    world, compared = explore(10), 0
    for env, (texels, seen) in enumerate(views(world, plans, 64)):
        colors = seen.facing[:, None] * texels.colors[texels.of(seen)]
        near = 1.0 - np.clip((seen.depth - 0.106066) / 10.0, 0.0, 1.0)
        sure = texels.sure(seen).reshape(16, 4).all(1)
        rgb, depth = (world.data.numpy(f"observations_{name}")[env, 0].T for name in ("rgb", "depth"))
        assert np.allclose(rgb[sure], colors.reshape(16, 4, 3).mean(1)[sure], atol=1e-3)
        assert np.allclose(depth[sure, 0], near.reshape(16, 4).mean(1)[sure], atol=1e-4)
        compared += sure.sum()
    assert compared > 0.5 * ENVS * 16


def test_every_texel_of_a_wall_can_be_seen() -> None:
    """From places all over a box, looking everywhere; the ends of each wall too."""
    world = packaged("explorer", ENVS, device="cpu", plans="box", res=128, subsample=4)
    world.reset()
    texels = int(world.environment.params.plan_set.most_texels)
    draws, found = np.random.default_rng(0), set()
    for _ in range(60):
        world["positions"][:] = torch.as_tensor(draws.uniform(1.3, 5.7, (ENVS, 1, 2)))
        world["angles"][:] = torch.as_tensor(draws.uniform(-180.0, 180.0, (ENVS, 1)))
        world["velocity"][:] = 0.0
        world.step()
        found |= set.union(*seen_texels(world))
    assert texels == 400  # four walls of 5 m
    assert found == set(range(texels))


@dataclasses.dataclass
class Texel:
    """One texel of a home: its number, its middle in metres, and of length 1 where its wall faces."""

    number: int
    middle: np.ndarray
    facing: np.ndarray


def texels_of(plan_set: PlanSet) -> list[Texel]:
    """Those of the first plan."""
    walls, first = plan_set.plans[0].walls.astype(np.float64), plan_set["wall_first_texel"].astype(int)
    found = []
    for wall, (a, b) in enumerate(walls):
        along, width = b - a, first[wall + 1] - first[wall]
        facing = np.array([-along[1], along[0]]) / np.linalg.norm(along)
        middles = a + (np.arange(width)[:, None] + 0.5) / width * along
        found += [Texel(first[wall] + i, middle, facing) for i, middle in enumerate(middles)]
    return found


def stand_before(texel: Texel, walls: np.ndarray) -> np.ndarray:
    """A place from which a texel is in sight: 0.3 m before it, or where a body has room beside other walls."""
    aside = np.array([texel.facing[1], -texel.facing[0]])
    for shift in (0.0, 0.1, -0.1, 0.2, -0.2):
        place = texel.middle + 0.3 * texel.facing + shift * aside
        if distances(walls, place).min() > RADIUS + 1e-3:
            return place
    raise AssertionError(f"nowhere before {texel}")


def test_every_texel_of_a_home_is_seen_from_before_it() -> None:
    """Of walls from both sides, jambs of doors and furniture: each in one look, where nothing has been seen before."""
    world = packaged("explorer", 256, device="cpu", **SMALL)
    world.reset()
    plan_set = world.environment.params.plan_set
    walls = plan_set.plans[0].walls.reshape(-1, 4).astype(np.float64)
    texels = texels_of(plan_set)
    assert len(texels) > 2000
    for begin in range(0, len(texels), 256):
        some = texels[begin : begin + 256]
        places = np.array([stand_before(texel, walls) for texel in some])
        ahead = np.array([texel.middle for texel in some]) - places
        world["positions"][: len(some), 0] = torch.as_tensor(places)
        world["angles"][: len(some), 0] = torch.as_tensor(np.degrees(np.arctan2(ahead[:, 1], ahead[:, 0])))
        for name in ("velocity", "angvelocity", "actions", "seen", "plan"):
            world[name][:] = 0
        world.step()
        for texel, seen in zip(some, seen_texels(world), strict=False):
            assert texel.number in seen, texel


def test_an_agent_that_sees_nothing_new_sleeps_in(plans: dict[str, np.ndarray]) -> None:
    """Standing still it lives for what it saw when it woke, and ``patience``; then it wakes up somewhere else."""
    world = packaged("explorer", ENVS, device="cpu", patience=5, **SMALL)
    world.reset()
    lives, start = world.data.numpy("potential").copy(), world.data.numpy("positions").copy()
    ended = np.zeros(ENVS, dtype=int)
    for step in range(1, int(lives.max()) + 6):
        before = world.data.numpy("positions").copy()
        world.step()
        now = world.data.numpy("terminated").copy()
        first = now & (ended == 0)
        ended[first] = step
        assert (before[ended == 0] == start[ended == 0]).all()
        assert (world.data.numpy("positions")[first] != start[first]).any(axis=(1, 2)).all()
        assert (world.data.numpy("rewards") == 0.0).all()
    assert np.array_equal(ended, lives + 5)


def test_a_time_limit_truncates() -> None:
    world = explore(7, episode_length=7)
    assert world["truncated"].all() and not world["terminated"].any()


def test_pushes_and_turns_are_those_of_a_body_with_inertia() -> None:
    """In the middle of an empty box; terminal speeds are 4 m/s and 144 degrees a second."""
    world = packaged("explorer", 3, device="cpu", plans="box", **{k: SMALL[k] for k in ("res", "subsample")})
    world.reset()
    world["positions"][:] = 3.5
    world["angles"][:] = 90.0
    for _ in range(3):
        world["actions"][:, 0, 0] = torch.as_tensor([3, 1, 5])  # forward, left, turn left
        world.step()
    speed, place, angle = 0.0, 3.5, 90.0
    for _ in range(3):
        speed = 0.875 * speed + 0.5
        place += 0.1 * speed
    turning = 0.0
    for _ in range(3):
        turning = 0.875 * turning + 18.0
        angle += 0.1 * turning
    assert world.data.numpy("positions")[:2, 0] == pytest.approx(np.array([[3.5, place], [7.0 - place, 3.5]]), abs=1e-4)
    assert world.data.numpy("angles")[2, 0] == pytest.approx(angle, abs=1e-3)
    assert world.data.numpy("observations_imu")[0, 0] == pytest.approx([0.0, 0.1 * speed, 0.0], abs=1e-5)
    assert world.data.numpy("observations_imu")[1, 0] == pytest.approx([0.0, 0.0, 0.1 * speed], abs=1e-5)
    assert world.data.numpy("observations_imu")[2, 0] == pytest.approx([turning / 360.0, 0.0, 0.0], abs=1e-5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"fov": 180.0}, "fov=180.0: expected a number above 0 and below 180"),
        ({"fov": float("inf")}, "fov=inf: expected a number above"),
        ({"res": 0}, "res=0: expected 1 to 4096"),
        ({"res": 5000}, "res=5000: expected 1 to 4096"),
        ({"res": 62}, "res=62: expected a multiple of subsample=4"),
        ({"plans": "bos"}, "plans='bos': expected homes, box, column, or a file or folder of plans"),
        ({"num_plans": 0}, "num_plans=0"),
        ({"fps": 0.0}, "fps=0.0: expected a finite number above 0"),
        ({"decay": 1.5}, "decay=1.5: expected 0 to 1"),
        ({"patience": 0}, "patience=0: expected 1 to 2^31 - 1"),
    ],
    ids=lambda value: next(iter(value.items())) if isinstance(value, dict) else "",
)
def test_impossible_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        packaged("explorer", 1, **{**SMALL, **params})
    assert message in str(error.value)


def test_brute_force_draws_the_same() -> None:
    """Pixels differ only where a ray grazes the end of a wall or of a texel."""
    worlds = [World(kind(**SMALL), ENVS, device="cpu", seed=3) for kind in (Explorer, BruteExplorer)]
    draws, different = np.random.default_rng(2), []
    for world in worlds:
        world.reset()
    for _ in range(30):
        actions = draws.integers(0, 7, worlds[0]["actions"].shape)
        for world in worlds:
            world["actions"][:] = torch.as_tensor(actions)
            world.step()
        ours, theirs = (world.data.numpy("observations_rgb") for world in worlds)
        different.append((np.abs(ours - theirs) > 0.005).any(axis=2))
        assert np.array_equal(*(world.data.numpy("positions") for world in worlds))
    assert np.mean(different) < 0.01  # of pixels, which are four rays each
    assert np.abs(worlds[0].data.numpy("potential") - worlds[1].data.numpy("potential")).max() <= 5
