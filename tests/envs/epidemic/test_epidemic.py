"""The epidemic against its equations in float64, and what each level may do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.epidemic.epidemic_oracle import Nation
from warpworld import World
from warpworld.envs.epidemic.epidemic import Epidemic
from warpworld.envs.epidemic.regions import draw_regions
from warpworld.errors import DeclarationError


def epidemic_world(num_envs: int = 1, **params: Any) -> World:
    world = World(Epidemic(**params), num_envs, "cpu", num_workers=1)
    world.reset()
    return world


def nation_of(world: World) -> Nation:
    """Env 0 at the start of its episode, in float64."""
    p = world.environment.params
    people = world.data.numpy("people")[0, : p.regions].astype(float)
    return Nation(p, draw_regions(p.regions, p.filters, p.levels, p.region_seed), people)


def act(world: World, regions: np.ndarray, government: int) -> None:
    """A day of all envs."""
    world["actions_region"][..., 0] = torch.from_numpy(np.asarray(regions, dtype=np.int32))
    world["actions_government"][:] = government
    world.step()


@pytest.mark.long
@pytest.mark.parametrize(
    "params",
    [
        dict(regions=5, episode_length=541),
        dict(regions=12, region_interval=3, government_interval=10, delay=4, levels=5, subsidies=7, transmission=1.5),
    ],
)
def test_every_day_follows_the_equations(params: dict[str, Any]) -> None:
    world, generator = epidemic_world(**params), np.random.default_rng(0)
    p, nation = world.environment.params, nation_of(world)
    for _ in range(120):
        regions, government = generator.integers(0, p.levels + 1, p.regions), int(generator.integers(p.subsidies + 1))
        act(world, regions, government)
        rewards = nation.day(regions, government)
        np.testing.assert_array_equal(world["strictness"][0, : p.regions].cpu(), nation.strictness[-1])
        assert int(world["subsidy"]) == nation.subsidy
        np.testing.assert_allclose(world["people"][0, : p.regions].cpu(), nation.people, atol=2e-5)
        np.testing.assert_allclose(world["unemployment"][0, : p.regions].cpu(), nation.unemployment(), rtol=1e-4)
        np.testing.assert_allclose(world["rewards"][0].cpu(), rewards, atol=1e-3, rtol=1e-3)
    assert nation.people[:, 3].min() > 1e-5


def test_agents_see_the_nation_and_what_is_theirs() -> None:
    world = epidemic_world(regions=3, region_interval=2, government_interval=4, episode_length=20)
    act(world, np.array([10, 1, 5]), 20)
    people, population = world.data.numpy("people")[0], world.data.numpy("population")
    jobless, strictness = world.data.numpy("unemployment")[0] / 100, world.data.numpy("strictness")[0]
    national = [population @ people[:3, 1], population @ people[:3, 3], population @ jobless[:3], 1.0, 1 / 20]
    for region in range(3):
        own = [*people[region], strictness[region] / 10, jobless[region], 1 / 2, 3 / 4]
        np.testing.assert_allclose(world["observations_region"][0, region].cpu(), [*national, *own], rtol=1e-5)
    own = [population @ people[:3, 0], population @ people[:3, 2], population @ strictness[:3] / 10, 3 / 4]
    np.testing.assert_allclose(world["observations_government"][0, 0].cpu(), [*national, *own], rtol=1e-5)


def test_each_level_may_choose_in_its_own_intervals() -> None:
    world = epidemic_world(regions=2, region_interval=2, government_interval=3, levels=4, subsidies=6)
    for day in range(7):
        masks = world["action_mask"][0].tolist()
        assert masks[0] == masks[1] == [True] + [day % 2 == 0] * 4 + [False] * 2
        assert masks[2] == [True] + [day % 3 == 0] * 6
        before = world["strictness"][0, :2].tolist(), int(world["subsidy"])
        act(world, np.array([1 + day % 4, 2]), 1 + day % 6)  # even where it is not allowed
        assert world["strictness"][0, :2].tolist() == ([1 + day % 4, 2] if day % 2 == 0 else before[0])
        assert int(world["subsidy"]) == (day % 6 if day % 3 == 0 else before[1])


@pytest.mark.long
def test_the_stricter_the_fewer_die_and_the_more_lose_their_jobs() -> None:
    world = epidemic_world(10, regions=3, region_interval=1, episode_length=300)
    world["people"][:] = world["people"][:1].clone()  # the same start for all
    chosen = np.broadcast_to(np.arange(1, 11)[:, None], (10, 3))
    jobless = np.zeros(10)
    for _ in range(299):
        act(world, chosen, 0)
        jobless += world.data.numpy("unemployment")[:, :3].mean(1)
    assert (np.diff(world.data.numpy("people")[:, :3, 3].mean(1)) < 0).all()
    assert (np.diff(jobless) > 0).all()


def test_each_env_may_have_its_own_contagion() -> None:
    world = epidemic_world(3, regions=2, transmission=[0.0, 1.0, 2.0])
    infected = world.data.numpy("people")[:, 0, 1].copy()
    for _ in range(30):
        act(world, np.ones(2), 0)
    grown = world.data.numpy("people")[:, 0, 1] / infected
    assert grown[0] < 0.2 and 1.5 < grown[1] < grown[2]


def test_regions_depend_on_their_seed_alone() -> None:
    first, again, other = (draw_regions(51, 5, 10, seed) for seed in (0, 0, 1))
    for table in ("population", "contagion", "jobless"):
        np.testing.assert_array_equal(getattr(first, table), getattr(again, table))
        assert not np.array_equal(getattr(first, table), getattr(other, table))
    assert first.population.sum() == pytest.approx(1.0)
    assert (first.contagion[:, 0] > 1 / 14).all() and (first.contagion[:, 1] < 1 / 14).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"regions": 0}, "regions=0: expected 1 to 1023"),
        ({"levels": 1}, "levels=1: expected 2 to 100"),
        ({"delay": 0}, "delay=0: expected 1 to 1000"),
        ({"episode_length": 0}, "episode_length=0: expected 1 to 2^31 - 1"),
        ({"death_rate": 1.5}, "death_rate=1.5: expected 0 to 1"),
        ({"transmission": -1.0}, "transmission=-1.0: expected a finite number of at least 0"),
    ],
)
def test_parameters_that_make_no_epidemic_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        Epidemic(**params)
    assert str(error.value).endswith(message)
