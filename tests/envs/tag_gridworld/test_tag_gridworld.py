"""The rules of tag_gridworld: published vectors, an oracle, starts, and refused parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.envs.tag_gridworld import tag_gridworld_oracle as oracle
from tests.packaged import packaged
from warpworld import World
from warpworld.envs.tag_gridworld.tag_gridworld import TagGridworld
from warpworld.errors import DeclarationError

STAY, RIGHT, LEFT, UP, DOWN = range(5)


def make(num_envs: int = 1, seed: int = 0, **params: Any) -> World:
    """A world on the cpu that keeps its final observations, after its first reset."""
    world = packaged("tag_gridworld", num_envs=num_envs, device="cpu", seed=seed, final_observations=True, **params)
    world.reset()
    return world


def place(world: World, x: Any, y: Any) -> None:
    """Put the agents of every env on the cells ``x``, ``y``."""
    world["loc_x"][:] = torch.tensor(np.array(x), dtype=torch.int32)
    world["loc_y"][:] = torch.tensor(np.array(y), dtype=torch.int32)


def act(world: World, actions: Any) -> None:
    """One step with these actions: of one env for all, or (envs, agents)."""
    world["actions"][:] = torch.tensor(np.array(actions), dtype=torch.int32)[..., None]
    world.step()


def cells(world: World) -> tuple[list[int], list[int]]:
    """Cells of the first env's agents."""
    return world["loc_x"][0].tolist(), world["loc_y"][0].tolist()


# ---- WarpDrive's published vectors ----------------------------------------------------------------------------------

VECTORS = dict(num_taggers=4, grid_length=4, episode_length=1)
FIRST = dict(starting_location_x=(0, 0, 0, 0, 1), starting_location_y=(0, 0, 0, 0, 1))
SECOND = dict(starting_location_x=(1, 3, 3, 1, 0), starting_location_y=(1, 1, 3, 3, 1))


def final_cells(world: World) -> tuple[list[int], list[int]]:
    """Cells at the end of the first env's last episode, from the full observation."""
    seen = world.data.numpy("final_observations")[0, 0] * world.environment.params.grid_length  # type: ignore[attr-defined]
    return seen[:5].astype(int).tolist(), seen[5:10].astype(int).tolist()


def test_published_tag() -> None:
    world = make(**VECTORS, **FIRST)
    act(world, (LEFT, STAY, UP, DOWN, LEFT))
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [9.9, 10, 10, 9.9, -2], rtol=1e-6)
    assert final_cells(world) == ([0, 0, 0, 0, 0], [0, 0, 1, 0, 1])
    assert world["terminated"][0]
    assert cells(world) == (list(FIRST["starting_location_x"]), list(FIRST["starting_location_y"]))
    act(world, (RIGHT, LEFT, UP, DOWN, UP))
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [-0.01, -0.11, -0.01, -0.11, 0.01], rtol=1e-6)


def test_published_time_limit() -> None:
    world = make(**VECTORS, **SECOND)
    act(world, (RIGHT, UP, LEFT, DOWN, RIGHT))
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [-0.01] * 4 + [0.01], rtol=1e-6)
    assert final_cells(world) == ([2, 3, 2, 1, 1], [1, 2, 3, 2, 1])
    assert world["truncated"][0] and not world["terminated"][0]
    act(world, (LEFT, RIGHT, STAY, DOWN, STAY))
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [10, 10, 10, 10, -2], rtol=1e-6)
    assert world["terminated"][0]


# ---- against the oracle ---------------------------------------------------------------------------------------------


def compare_step(world: World, actions: np.ndarray) -> None:
    """One step of ``world`` and of the oracle from the same state, and the reset that may follow."""
    params = world.environment.params
    assert isinstance(params, TagGridworld.Params)
    before_x, before_y = world.data.numpy("loc_x").copy(), world.data.numpy("loc_y").copy()
    timestep = world.data.numpy("timestep") + 1
    act(world, actions)
    expected = oracle.step(params, before_x, before_y, actions, timestep)
    np.testing.assert_array_equal(world.data.numpy("terminated"), expected.terminated)
    np.testing.assert_array_equal(world.data.numpy("truncated"), expected.truncated)
    np.testing.assert_allclose(world.data.numpy("rewards"), expected.rewards, rtol=1e-6, atol=1e-6)
    ended = expected.terminated | expected.truncated
    seen = np.where(ended[:, None, None], world.data.numpy("final_observations"), world.data.numpy("observations"))
    np.testing.assert_allclose(seen, expected.observations, rtol=1e-6, atol=1e-7)
    x, y = world.data.numpy("loc_x"), world.data.numpy("loc_y")
    np.testing.assert_array_equal(x[~ended], expected.loc_x[~ended])
    np.testing.assert_array_equal(y[~ended], expected.loc_y[~ended])
    started = oracle.observe(params, x[ended], y[ended], np.zeros(ended.sum()))
    np.testing.assert_allclose(world.data.numpy("observations")[ended], started.reshape(-1, *seen.shape[1:]), rtol=1e-6)
    np.testing.assert_array_equal(world.data.numpy("timestep"), np.where(ended, 0, timestep))


def compare_steps(num_envs: int, num_steps: int, seed: int, **params: Any) -> None:
    """Steps from random states, each compared with the oracle."""
    world = make(num_envs, seed % 2**32, **params)
    generator = np.random.default_rng(seed)
    shape, length = (num_envs, world.num_agents), params["grid_length"]
    place(world, generator.integers(0, length + 1, shape), generator.integers(0, length + 1, shape))
    for _ in range(num_steps):
        compare_step(world, generator.integers(0, 5, shape))


@pytest.mark.heavy
@settings(max_examples=60)
@given(
    num_taggers=st.sampled_from((1, 4, 10)),
    use_full_observation=st.booleans(),
    grid_length=st.integers(1, 12),
    episode_length=st.integers(1, 9),
    wall_hit_penalty=st.sampled_from((0.0, 0.1, 2.5)),
    tag_reward_for_tagger=st.sampled_from((1.0, 10.0)),
    tag_penalty_for_runner=st.sampled_from((2.0, 5.0)),
    step_cost_for_tagger=st.sampled_from((0.0, 0.01)),
    start=st.sampled_from(("random", "fixed")),
    seed=st.integers(0, 2**32),
)
@pytest.mark.long
def test_steps_are_the_oracles(seed: int, **params: Any) -> None:
    compare_steps(num_envs=40, num_steps=12, seed=seed, **params)


@pytest.mark.parametrize("use_full_observation", [False, True])
def test_steps_of_a_crowd_are_the_oracles(use_full_observation: bool) -> None:
    for seed in range(3):
        compare_steps(
            20, 8, seed, num_taggers=109, grid_length=40, episode_length=6, use_full_observation=use_full_observation
        )


def test_steps_on_the_largest_grid_are_the_oracles() -> None:
    compare_steps(20, 8, 1, num_taggers=4, grid_length=32767, use_full_observation=False)


# ---- single rules ---------------------------------------------------------------------------------------------------


def test_walls_stop_and_cost() -> None:
    world = make(num_taggers=4, grid_length=3)
    place(world, (0, 3, 0, 3, 1), (0, 3, 3, 0, 1))
    act(world, (LEFT, RIGHT, UP, DOWN, STAY))
    assert cells(world) == ([0, 3, 0, 3, 1], [0, 3, 3, 0, 1])
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [-0.11] * 4 + [0.01], rtol=1e-6)


def test_two_catchers_pay_no_more_than_one() -> None:
    world = make(num_taggers=4, grid_length=3)
    for catchers in (1, 2, 4):
        place(world, (2,) * catchers + (0,) * (4 - catchers) + (2,), (1,) * 5)
        act(world, (STAY,) * 5)
        np.testing.assert_allclose(world.data.numpy("rewards")[0], [10.0] * 4 + [-2.0])


def test_agents_that_swap_cells_do_not_meet() -> None:
    world = make(num_taggers=1, grid_length=3)
    place(world, (1, 2), (0, 0))
    act(world, (RIGHT, LEFT))
    assert not world["terminated"][0]
    assert cells(world) == ([2, 1], [0, 0])


def test_a_tag_in_the_last_step_terminates_and_does_not_truncate() -> None:
    world = make(num_taggers=1, grid_length=3, episode_length=1)
    place(world, (1, 2), (0, 0))
    act(world, (RIGHT, STAY))
    assert world["terminated"][0] and not world["truncated"][0]


def test_the_runner_sees_the_first_of_the_nearest_taggers() -> None:
    world = make(num_taggers=3, grid_length=4, use_full_observation=False)
    place(world, (4, 1, 3, 2), (4, 2, 2, 2))  # the second and the third are next to the runner
    act(world, (STAY,) * 4)
    np.testing.assert_allclose(world.data.numpy("observations")[0, 3], [0.5, 0.5, 0.25, 0.5, 1.0, 0.01])
    np.testing.assert_allclose(world.data.numpy("observations")[0, 0], [1.0, 1.0, 0.5, 0.5, 0.0, 0.01])


def test_actions_are_one_array_and_groups_lie_in_order() -> None:
    world = make(num_taggers=3)
    assert [(group.name, group.first, group.size) for group in world.groups.values()] == [
        ("tagger", 0, 3),
        ("runner", 3, 1),
    ]
    assert world["actions"].shape == (1, 4, 1)
    assert world.observations("runner").shape == (1, 1, 17)


# ---- starts ---------------------------------------------------------------------------------------------------------


def chi_square(counts: np.ndarray) -> float:
    """How far counts are from equal ones, in standard deviations of the statistic."""
    expected = counts.mean()
    freedom = counts.size - 1
    return float((((counts - expected) ** 2 / expected).sum() - freedom) / np.sqrt(2 * freedom))


def starts(world: World, episodes: int) -> np.ndarray:
    """Cells, counted row by row, in which episodes begin: (episodes * envs, agents)."""
    side = world.environment.params.grid_length + 1  # type: ignore[attr-defined]
    found = []
    for _ in range(episodes):
        world.reset()
        found.append(world.data.numpy("loc_y") * side + world.data.numpy("loc_x"))
    return np.concatenate(found)


def test_random_starts_are_uniform_over_all_places_that_are_allowed() -> None:
    drawn = starts(make(2000, seed=3, num_taggers=2, grid_length=2), episodes=20)
    runner = drawn[:, -1]
    assert chi_square(np.bincount(runner, minlength=9)) < 4
    for tagger in (0, 1):
        together = np.bincount(runner * 9 + drawn[:, tagger], minlength=81).reshape(9, 9)
        assert np.all(np.diag(together) == 0)
        assert chi_square(together[~np.eye(9, dtype=bool)]) < 4
    both = np.zeros((9, 9, 9), int)
    np.add.at(both, (runner, drawn[:, 0], drawn[:, 1]), 1)
    allowed = [(r, a, b) for r in range(9) for a in range(9) for b in range(9) if r not in (a, b)]
    assert chi_square(np.array([both[place] for place in allowed])) < 4


@settings(max_examples=20)
@given(grid_length=st.integers(1, 40), num_taggers=st.sampled_from((1, 4, 10)), seed=st.integers(0, 2**64 - 1))
def test_the_runner_never_starts_on_a_tagger(grid_length: int, num_taggers: int, seed: int) -> None:
    drawn = starts(make(300, seed, num_taggers=num_taggers, grid_length=grid_length), episodes=3)
    assert not np.any(drawn[:, :-1] == drawn[:, -1:])
    assert drawn.min() >= 0 and drawn.max() < (grid_length + 1) ** 2


def test_random_starts_reach_every_cell_and_differ_between_envs_and_episodes() -> None:
    world = make(500, seed=1, num_taggers=4, grid_length=6, episode_length=1)
    drawn = starts(world, episodes=10).reshape(10, 500, 5)
    assert all(np.unique(drawn[..., agent]).size == 49 for agent in range(5))
    assert np.unique(drawn.reshape(-1, 5), axis=0).shape[0] > 4990  # of 5000: 49^5 starts are possible
    before = world["loc_x"].clone()
    act(world, (STAY,) * 5)  # ends every episode
    assert (world["loc_x"] != before).any(1).float().mean() > 0.9


def test_random_starts_follow_the_seed() -> None:
    first, same, other = (starts(make(50, seed), episodes=2) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, same)
    assert np.any(first != other)


def test_the_fixed_start_is_warpdrives() -> None:
    world = make(3, num_taggers=2, grid_length=5, episode_length=1, start="fixed")
    for _ in range(3):
        np.testing.assert_array_equal(world.data.numpy("loc_x"), [[2, 2, 0]] * 3)
        np.testing.assert_array_equal(world.data.numpy("loc_y"), [[2, 2, 0]] * 3)
        act(world, (RIGHT, UP, RIGHT))


def test_given_cells_are_a_fixed_start() -> None:
    world = make(2, num_taggers=2, starting_location_x=(3, 4, 5), starting_location_y=[6, 7, 8])
    assert world.environment.params.start == "fixed"  # type: ignore[attr-defined]
    np.testing.assert_array_equal(world.data.numpy("loc_x"), [[3, 4, 5]] * 2)
    np.testing.assert_array_equal(world.data.numpy("loc_y"), [[6, 7, 8]] * 2)


# ---- refused parameters ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (dict(num_taggers=0), "num_taggers=0: expected 1 to 11999"),
        (dict(num_taggers=2400), "num_taggers=2400: expected 1 to 2399"),
        (dict(num_taggers=12_000, use_full_observation=False), "expected 1 to 11999"),
        (dict(grid_length=0), "grid_length=0: expected 1 to 32767"),
        (dict(grid_length=2.5), "grid_length=2.5"),
        (dict(episode_length=0), "episode_length=0"),
        (dict(episode_length=True), "episode_length=True"),
        (dict(wall_hit_penalty=float("inf")), "wall_hit_penalty=inf: expected a finite number"),
        (dict(start="middle"), "start='middle': expected 'random' or 'fixed'"),
        (dict(starting_location_x=(1,) * 11), "expected both or neither"),
        (dict(starting_location_x=(1,) * 10, starting_location_y=(1,) * 11), "expected 11 whole numbers"),
        (dict(starting_location_x=(1,) * 11, starting_location_y=(11,) * 11), r"starting_location_y\[0\]=11: .* to 10"),
        (dict(starting_location_x=(-1,) * 11, starting_location_y=(1,) * 11), r"starting_location_x\[0\]=-1"),
        (dict(starting_location_x=(1.5,) * 11, starting_location_y=(1,) * 11), r"starting_location_x\[0\]=1.5"),
    ],
)
def test_impossible_parameters_are_refused(params: dict[str, Any], expected: str) -> None:
    with pytest.raises(DeclarationError, match=expected):
        TagGridworld(**params)
