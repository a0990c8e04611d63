"""Plans packed for kernels, and the light on their walls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import warpworld
from tests.eyes.plans.light_oracle import light_at, light_on, unpacked
from tests.eyes.plans.plan_oracle import distances
from warpworld.environment import Array, Environment, Group
from warpworld.errors import PlanError
from warpworld.eyes.plans import Plan, PlanSet, box, column, homes
from warpworld.eyes.plans.bake import Bake
from warpworld.eyes.plans.textures import PALETTE, linear_palette, stripes
from warpworld.world import World

PLANS = [box(5), column(6), *homes(seed=5, count=3)]


@pytest.fixture(scope="module")
def plans() -> PlanSet:
    return PlanSet(PLANS, seed=11)


def reflected(plans: PlanSet, plan: int) -> np.ndarray:
    """What the texels of a plan would show in full light, (texels, 3): colour of the wall times stripes."""
    first, last = plans["plan_first_wall"][plan : plan + 2]
    widths = np.diff(plans["wall_first_texel"][first : last + 1])
    colours = linear_palette()[np.arange(last - first) % 10, :3]
    pattern = stripes(11, plan, int(widths.sum()), plans.texel)
    return np.repeat(colours, widths, 0).astype(np.float64) * pattern[:, None]


def texels_of(plans: PlanSet, plan: int) -> np.ndarray:
    first, last = plans["wall_first_texel"][plans["plan_first_wall"][plan : plan + 2]]
    return plans["wall_texels"][first:last]


# ---- packing ---------------------------------------------------------------------------------------------------------
def test_walls_lights_and_texels_are_ordered_by_plan(plans: PlanSet) -> None:
    for i, plan in enumerate(PLANS):
        walls, lights = (slice(*plans[f"plan_first_{what}"][i : i + 2]) for what in ("wall", "light"))
        assert np.array_equal(plans["plan_walls"][walls], plan.walls.reshape(-1, 4))
        assert np.array_equal(plans["plan_lights"][lights][:, :3], plan.lights)
        lengths = np.linalg.norm(plan.walls[:, 1] - plan.walls[:, 0], axis=1)
        widths = np.diff(plans["wall_first_texel"][walls.start : walls.stop + 1])
        assert np.abs(lengths / widths - 0.05).max() <= 0.05 * (1 - 1 / 2)
        assert (lengths / widths).max() <= 0.05 * 1.001
    assert plans["wall_first_texel"][:5].tolist() == [0, 100, 200, 300, 400]  # four walls of 5 m
    assert plans["wall_first_texel"][-1] == len(plans["wall_texels"])


@pytest.mark.long
def test_spawn_cells_are_those_in_which_the_disc_is_clear_everywhere(plans: PlanSet) -> None:
    places = np.stack(np.meshgrid(*[np.linspace(-0.1, 0.1, 5)] * 2), -1).reshape(-1, 2)
    for i, plan in enumerate(PLANS[:3]):
        centres, rooms = [], []
        for room in range(plans["plan_first_room"][i], plans["plan_first_room"][i + 1]):
            own = plans["plan_cells"][slice(*plans["room_first_cell"][room : room + 2])]
            assert len(own) > 0
            centres.append(own)
            rooms += [room - plans["plan_first_room"][i] + 1] * len(own)
        cells = np.concatenate(centres).astype(np.float64)
        column_, row = ((cells - plan.origin) / plan.resolution).astype(int).T
        assert plan.rooms[row, column_].tolist() == rooms
        everywhere = (plan.centres(np.argwhere(plan.rooms > 0))[:, None] + places).reshape(-1, 2)
        clear = distances(everywhere, plan.walls).reshape(-1, len(places)).min(1) >= 0.106066 + 0.01 - 1e-6
        assert len(cells) == clear.sum()


def test_rooms_without_a_spawn_cell_are_left_out() -> None:
    walls = [*box(4).walls.tolist(), [[4.7, 1], [4.7, 5]]]  # cuts off a strip of 30 cm
    rooms = np.zeros((30, 30), dtype=int)
    rooms[5:25, 5:23] = 7
    rooms[5:25, 24:25] = 3
    plans = PlanSet([Plan("strip", walls, [[2, 2, 1]], rooms), box(4)])
    assert plans["plan_first_room"].tolist() == [0, 1, 2]
    assert plans["plan_cells"][:, 0].max() < 5
    assert plans["room_first_cell"][1] == 16 * 18


def test_properties_describe_the_set(plans: PlanSet) -> None:
    assert (plans.num_plans, len(plans)) == (5, 5)
    assert plans.most_walls == max(len(plan.walls) for plan in PLANS)
    corners = np.concatenate([plan.walls.reshape(-1, 2) for plan in PLANS])
    assert plans.bounds == (*corners.min(0).tolist(), *corners.max(0).tolist())
    assert plans.nbytes == sum(np.asarray(array.initial).nbytes for array in plans.arrays())


def test_an_array_that_is_not_there(plans: PlanSet) -> None:
    with pytest.raises(PlanError, match=r"a PlanSet has no array 'plan_wall'\. Did you mean 'plan_walls'\?"):
        plans["plan_wall"]


class Looker(Environment):
    """Has a plan, and nothing to do."""

    def __init__(self, plans: PlanSet) -> None:
        super().__init__()
        self.plans = plans

    def groups(self) -> Sequence[Group]:
        return [Group("agent", 1, observation=Box(0, 1, (1,)), action=Discrete(2))]

    def arrays(self) -> Sequence[Array]:
        return [*self.plans.arrays(), Array("plan", "int32", per="env")]

    def phases(self) -> Sequence[Any]:
        return []


def test_an_environment_declares_the_arrays_as_they_are(plans: PlanSet) -> None:
    world = World(Looker(plans), num_envs=3, device="cpu")
    world.reset()
    names = [array.name for array in plans.arrays()]
    assert len(names) == 11
    for array in plans.arrays():
        assert (array.per, array.read_only) == ("world", True)
        assert np.array_equal(world.data.numpy(array.name), plans[array.name])


# ---- light -----------------------------------------------------------------------------------------------------------
def test_light_in_the_middle_of_a_box(plans: PlanSet) -> None:
    """2.5 m away from the nearest point of a wall, intensity 1: 0.1 + 2 / (2.5^2 + x^2)."""
    along = (np.arange(100) + 0.5) * 0.05 - 2.5
    expected = 0.1 + 2 / (2.499**2 + along**2)
    light = unpacked(texels_of(plans, 0)) / reflected(plans, 0)
    assert np.abs(light[:, 0].reshape(4, 100) - expected).max() < 0.5 / 2047 / 0.04


@pytest.mark.parametrize("plan", range(len(PLANS)))
def test_light_is_that_of_the_oracle(plans: PlanSet, plan: int) -> None:
    light, grazing = light_on(plans, plan)
    error = np.abs(unpacked(texels_of(plans, plan)) - light[:, None] * reflected(plans, plan))
    wrong = (error > np.array([0.5 / 2047, 0.5 / 2047, 0.5 / 1023]) + 2e-5).any(1)
    assert not (wrong & ~grazing).any()
    assert wrong.mean() < 0.001
    assert (light == 0.1).any() == (plan > 0), "what no light reaches has the ambient light"


@pytest.mark.parametrize("turned", [False, True])
def test_a_lone_wall_shows_its_brighter_side_whichever_way_it_is_drawn(turned: bool) -> None:
    """A light of intensity 0.5 stands 1.5 m before the middle of a wall of 1 m, a weaker one 1.5 m behind it."""
    room, wall = box(5), [[3.5, 3.0], [3.5, 4.0]]
    walls = [*room.walls.tolist(), wall[::-1] if turned else wall]
    plans = PlanSet([Plan("screen", walls, [[2.0, 3.5, 0.5], [5.0, 3.5, 0.4]], room.rooms)], seed=11)
    light = (unpacked(texels_of(plans, 0)) / reflected(plans, 0))[-20:, 0]
    along = (np.arange(20) + 0.5) * 0.05 - 0.5
    assert np.abs(light - (0.1 + 1 / (1.499**2 + along**2))).max() < 0.5 / 2047 / 0.04
    assert (light[:10] == pytest.approx(light[10:][::-1], abs=0.02)) is True


def test_the_shadow_of_a_wall() -> None:
    """Behind the wall above, as seen from the light, the far wall at x = 6 is dark for y of 3.5 +- 4/3."""
    room = box(5)
    walls = [*room.walls.tolist(), [[3.5, 3.0], [3.5, 4.0]]]
    plans = PlanSet([Plan("screen", walls, [[2.0, 3.5, 0.5]], room.rooms)], seed=11)
    light = (unpacked(texels_of(plans, 0)) / reflected(plans, 0))[100:200, 0]
    y = 1 + (np.arange(100) + 0.5) * 0.05
    assert np.array_equal(light < 0.11, np.abs(y - 3.5) < 4 / 3)


def test_no_light_gets_through_corners_or_into_slabs() -> None:
    """A closed cell around the light, of walls that only touch: everything outside it has the ambient light alone."""
    corners = np.array([[3.0, 3.0], [4.0, 3.1], [4.1, 4.0], [3.1, 4.1]])
    cell = np.stack([corners, np.roll(corners, -1, axis=0)], 1)
    room = box(5)
    plans = PlanSet([Plan("cell", [*room.walls, *cell], [[3.5, 3.6, 2]], room.rooms)], texel=0.001, seed=11)
    outside = (unpacked(texels_of(plans, 0)) / reflected(plans, 0))[:20000, 0]
    assert np.abs(outside - 0.1).max() < 0.5 / 2047 / 0.03


@pytest.mark.parametrize("plan", range(len(PLANS)))
def test_light_on_floors_is_that_of_the_oracle(plans: PlanSet, plan: int) -> None:
    """At every node, all over the plan and beyond its last wall."""
    first, columns, rows, _ = plans["plan_floor"][plan].tolist()
    farthest = PLANS[plan].walls.reshape(-1, 2).max(0)
    assert (np.abs([columns - 1.5, rows - 1.5] - farthest / 0.25) <= 0.5).all()
    row, column_ = np.divmod(np.arange(rows * columns), columns)
    light, unsure = light_at(plans, plan, 0.25 * np.stack([column_, row], axis=1))
    wrong = np.abs(plans["floor_light"][first : first + rows * columns] / 255 - light) > 0.5 / 255 + 2e-5
    assert not (wrong & ~unsure).any()
    assert unsure.mean() < 0.2  # in toys, walls lie on nodes
    assert ((light == 0.1) & ~unsure).any() and ((light > 0.5) & ~unsure).any()


def test_floors_lie_one_behind_the_other(plans: PlanSet) -> None:
    first, columns, rows, _ = plans["plan_floor"].T.astype(np.int64)
    assert np.array_equal(first, np.concatenate([[0], np.cumsum(columns * rows)[:-1]]))
    assert plans["floor_light"].shape == (int((columns * rows).sum()),)
    assert plans["floor_light"].nbytes < 0.3 * plans["wall_texels"].nbytes


def test_stripes_are_seeded_for_each_plan() -> None:
    one = PlanSet([box(3), box(3)], seed=1)
    assert np.array_equal(one["wall_texels"], PlanSet([box(3), box(3)], seed=1)["wall_texels"])
    assert not np.array_equal(texels_of(one, 0), texels_of(one, 1))
    assert not np.array_equal(one["wall_texels"], PlanSet([box(3), box(3)], seed=2)["wall_texels"])
    assert np.array_equal(texels_of(one, 0), PlanSet([box(3)], seed=1)["wall_texels"])


def test_stripes_are_half_a_metre_long_on_average_and_of_all_shades() -> None:
    shades = stripes(3, 0, 200_000, 0.05)
    assert shades.min() >= 0.5**2.2 - 1e-6
    assert shades.max() <= 1
    assert 0.48 < 200_000 * 0.05 / (np.count_nonzero(np.diff(shades)) + 1) < 0.52
    quarters = np.histogram(shades ** (1 / 2.2), bins=4, range=(0.5, 1))[0] / 200_000
    assert (np.abs(quarters - 0.25) < 0.02).all()
    assert len(PALETTE) == 10


@pytest.mark.cpu_backend
def test_a_check_finds_nothing_in_the_kernel() -> None:
    plans = PlanSet([box(2), column(3), box(1)])
    read = ("plan_walls", "plan_first_wall", "wall_first_texel", "plan_lights", "plan_first_light", "plan_floor")
    inputs = {name: plans[name] for name in read}
    inputs |= {"wall_pattern": np.ones(len(plans["wall_texels"]), np.float32), "palette": linear_palette()}
    report = warpworld.check(Bake(inputs), 3, 2)
    assert report.clean, str(report)


# ---- bad input -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(plans=[]), "a PlanSet is made of at least one Plan, not of []"),
        (dict(plans=[3]), "a PlanSet is made of at least one Plan, not of [3]"),
        (dict(plans=[box(3)], radius=0), "radius=0: expected metres, a number above 0"),
        (dict(plans=[box(3)], texel=float("nan")), "texel=nan: expected metres, a number above 0"),
        (dict(plans=[box(3)], seed=-1), "seed=-1: expected a whole number of at least 0"),
        (
            dict(plans=[box(5), box(1)], radius=0.5),
            "plan 'box 1 m': no room to spawn: nowhere in its rooms is a cell in which a disc of radius 0.5 m is "
            "0.01 m clear of all walls; give it larger rooms, or a smaller radius",
        ),
        (
            dict(plans=[box(5)], texel=5e-9),
            "4,000,000,000 are more than the 2,147,483,647 that an index can count: texels; choose a larger texel",
        ),
    ],
)
def test_what_cannot_be_packed(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as error:
        PlanSet(**arguments)
    assert str(error.value) == message


def test_a_plan_set_needs_no_light() -> None:
    room = box(3)
    plans = PlanSet([Plan("dark", room.walls, [], room.rooms)], seed=11)
    assert plans["plan_lights"].tolist() == [[0, 0, 0, 0]]
    assert plans["plan_first_light"].tolist() == [0, 0]
    light = unpacked(texels_of(plans, 0)) / reflected(plans, 0)
    assert np.abs(light[:, 0] - 0.1).max() < 0.5 / 2047 / 0.04
