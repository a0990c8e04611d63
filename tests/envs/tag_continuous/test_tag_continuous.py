"""The rules of tag_continuous: cases worked by hand, starts, and refused parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.packaged import packaged
from warpworld import World
from warpworld.envs.tag_continuous.tag_continuous import NUM_BLOCKS, TagContinuous
from warpworld.errors import DeclarationError

FEATURES = ("loc_x", "loc_y", "speed", "direction", "acceleration")


def make(num_envs: int = 1, seed: int = 0, **params: Any) -> World:
    """A world on the cpu, after its first reset."""
    world = packaged("tag_continuous", num_envs=num_envs, device="cpu", seed=seed, num_workers=1, **params)
    world.reset()
    return world


# ---- cases worked by hand -------------------------------------------------------------------------------------------

REWARDS = dict(tag_reward_for_tagger=10.0, tag_penalty_for_runner=-3.0, end_of_game_reward_for_runner=5.0)


def stand(world: World, places: list[tuple[float, float]], timestep: int = 0) -> None:
    """Put the agents of every env on these places, at rest, to do nothing."""
    world["loc_x"][:] = torch.tensor([x for x, _ in places])
    world["loc_y"][:] = torch.tensor([y for _, y in places])
    for name in ("speed", "acceleration", "direction"):
        world[name] = 0.0
    world["actions"] = 0
    world["timestep"] = timestep


def flags(world: World, name: str) -> list[bool]:
    """A bool array of the first env."""
    return np.atleast_1d(world.data.numpy(name)[0]).tolist()


def test_two_tags_at_once_by_one_tagger_both_count() -> None:
    world = make(3, num_taggers=1, num_runners=3, **REWARDS)
    stand(world, [(5, 5), (5.05, 5), (5, 4.95), (8, 8)])
    world.step()
    np.testing.assert_allclose(world.data.numpy("rewards"), [[20, -3, -3, 0]] * 3)
    assert world["num_runners"].tolist() == [1] * 3
    assert world["still_in_the_game"][0].tolist() == [1, 0, 0, 1]
    assert not world["terminated"].any()


def test_two_tags_at_once_by_two_taggers_end_the_game() -> None:
    world = make(3, num_taggers=2, num_runners=2, **REWARDS)
    stand(world, [(1, 1), (9, 9), (1.05, 1), (9, 9.05)], timestep=3)
    world.step()
    np.testing.assert_allclose(world.data.numpy("rewards"), [[10, 10, -3, -3]] * 3)
    assert world["terminated"].all() and not world["truncated"].any()
    assert world["num_runners"].tolist() == [2] * 3 and world["timestep"].tolist() == [0] * 3  # of the next episode


def test_the_nearest_tagger_is_paid_and_the_first_of_equals() -> None:
    world = make(num_taggers=3, num_runners=2, **REWARDS)
    stand(world, [(5, 5), (2.0625, 2), (1.9375, 2), (5.05, 5), (2, 2)])
    world.step()
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [10, 10, 0, -3, -3])


def test_a_distance_equal_to_the_margin_is_no_tag() -> None:
    world = make(num_taggers=1, num_runners=1, grid_length=8.0, tagging_distance=0.0625)
    stand(world, [(4, 4), (4.5, 4)])
    world.step()
    assert world["rewards"][0].tolist() == [0, 0]
    stand(world, [(4, 4), (4.5 - 2**-20, 4)])
    world.step()
    assert world["rewards"][0].tolist() == [1, -1]


@pytest.mark.parametrize("leave", [True, False])
def test_a_tag_in_the_last_step_costs_the_reward_for_the_end(leave: bool) -> None:
    world = make(num_taggers=1, num_runners=2, episode_length=7, runner_exits_game_after_tagged=leave, **REWARDS)
    stand(world, [(5, 5), (5.05, 5), (8, 8)], timestep=6)
    world.step()
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [10, -3, 5])
    assert flags(world, "truncated") == [True] and flags(world, "terminated") == [False]
    assert flags(world, "agent_terminated") == [False, leave, False]


def test_everybody_tagged_in_the_last_step_terminates() -> None:
    world = make(num_taggers=1, num_runners=2, episode_length=7, **REWARDS)
    stand(world, [(5, 5), (5.05, 5), (5, 5.05)], timestep=6)
    world.step()
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [20, -3, -3])
    assert flags(world, "terminated") == [True] and flags(world, "truncated") == [False]


def test_runners_that_stay_are_tagged_again_and_never_end_the_game() -> None:
    world = make(num_taggers=1, num_runners=1, runner_exits_game_after_tagged=False, **REWARDS)
    stand(world, [(5, 5), (5.05, 5)])
    for _ in range(3):
        world.step()
        np.testing.assert_allclose(world.data.numpy("rewards")[0], [10, -3])
        assert not flags(world, "terminated")[0] and world["num_runners"].tolist() == [1]


def test_masks_of_agents_through_an_episode_and_into_the_next() -> None:
    world = make(num_taggers=1, num_runners=2)
    seen = []
    for places in ([(5, 5), (5.05, 5), (8, 8)], [(5, 5), (5.05, 5), (8, 8)], [(8, 8.05), (5.05, 5), (8, 8)]):
        stand(world, places, timestep=int(world["timestep"][0]))
        world.step()
        seen.append((flags(world, "agent_mask"), flags(world, "agent_terminated"), flags(world, "terminated")[0]))
    stand(world, [(1, 1), (5, 5), (8, 8)])
    world.step()
    seen.append((flags(world, "agent_mask"), flags(world, "agent_terminated"), flags(world, "terminated")[0]))
    assert seen == [
        ([True, True, True], [False, True, False], False),
        ([True, False, True], [False, False, False], False),
        ([True, False, True], [False, False, True], True),
        ([True, True, True], [False, False, False], False),
    ]


def test_who_has_left_stands_still_and_gets_nothing() -> None:
    world = make(num_taggers=1, num_runners=2, step_reward_for_runner=0.5, edge_hit_penalty=-2.0)
    stand(world, [(1, 1), (9.9, 5), (5, 5)])
    world["speed"] = 0.5
    world["acceleration"] = 0.25
    world["still_in_the_game"] = torch.tensor([[1, 0, 1]], dtype=torch.int32)
    world["num_runners"] = 1
    world.step()
    assert [world[name][0, 1].item() for name in FEATURES] == pytest.approx([9.9, 5, 0, 0, 0])
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [0, 0, 0.5])
    seen = world.data.numpy("observations")[0, 1].reshape(-1)
    np.testing.assert_array_equal(seen[:10], 0)  # differences
    np.testing.assert_array_equal(seen[10:], [1, 0, 1, 1, 0])  # types, who is in the game, time


PARTIAL = dict(use_full_observation=False)


def blocks(world: World, agent: int) -> tuple[np.ndarray, float]:
    """What an agent of the first env sees: (features, columns), and the time."""
    row = world.data.numpy("observations")[0, agent]
    return row[:-1].reshape(NUM_BLOCKS, -1), float(row[-1])


def test_who_is_tagged_is_seen_once_more_and_sees() -> None:
    world = make(num_taggers=1, num_runners=2, num_other_agents_observed=2, **PARTIAL)
    stand(world, [(5, 5), (5.05, 5), (8, 5)])
    world.step()
    side = 10 * 2**0.5
    np.testing.assert_allclose(blocks(world, 0)[0][0], [0.05 / side, 3 / side], rtol=1e-4)
    np.testing.assert_array_equal(blocks(world, 0)[0][-2:], [[0, 0], [1, 1]])
    np.testing.assert_array_equal(blocks(world, 1)[0][-2:], [[1, 0], [1, 1]])
    world.step()
    np.testing.assert_allclose(blocks(world, 0)[0][0], [3 / side, 0], rtol=1e-4)
    np.testing.assert_array_equal(blocks(world, 0)[0][-2:], [[0, 0], [1, 0]])
    np.testing.assert_array_equal(world.data.numpy("observations")[0, 1], 0)
    assert blocks(world, 0)[1] == pytest.approx(0.02)


def test_missing_neighbours_are_zeros() -> None:
    world = make(num_taggers=1, num_runners=1, num_other_agents_observed=4, **PARTIAL)
    stand(world, [(1, 2), (4, 6)])
    world["speed"][0, 1] = 0.5
    world.step()
    seen, time = blocks(world, 0)
    np.testing.assert_array_equal(seen[:, 1:], 0)
    side = 10 * 2**0.5
    np.testing.assert_allclose(seen[:, 0], [3.5 / side, 4 / side, 0.5, 0, 0, 0, 1], rtol=1e-5)
    assert time == pytest.approx(0.01)


@pytest.mark.parametrize("runners", [8, 60])
def test_of_equally_near_ones_the_first_are_seen(runners: int) -> None:
    world = make(num_taggers=1, num_runners=runners, num_other_agents_observed=3, **PARTIAL)
    places = [(5.0, 5.0)] + [(9.0, 9.0)] * runners
    for i, (dx, dy) in enumerate([(0, 2), (2, 0), (0, -2), (-2, 0)]):
        places[[2, 4, 7, 8][i]] = (5.0 + dx, 5.0 + dy)
    stand(world, places)
    world.step()
    side = 10 * 2**0.5
    np.testing.assert_allclose(blocks(world, 0)[0][:2] * side, [[0, 2, 0], [2, 0, -2]], atol=1e-5)
    np.testing.assert_array_equal(blocks(world, 3)[0][:2], 0)  # of many in one place, three


def test_edges_stop_and_cost_once() -> None:
    world = make(num_taggers=1, num_runners=3, grid_length=8.0, edge_hit_penalty=-2.0)
    stand(world, [(7.75, 7.75), (7.5, 4), (1, 1), (0.5, 3)])
    world["speed"] = [[0.75, 0.5, 0.0, 0.75]]
    world["direction"] = [[np.pi / 4, 0.0, 0.0, np.pi]]
    world.step()
    np.testing.assert_array_equal(world.data.numpy("loc_x")[0], [8, 8, 1, 0])
    np.testing.assert_allclose(world.data.numpy("loc_y")[0], [8, 4, 1, 3], atol=1e-6)
    assert world["rewards"][0].tolist() == [-2, 0, 0, -2]  # who just reaches the edge pays nothing


def test_actions_accelerate_and_turn() -> None:
    world = make(num_taggers=1, num_runners=1, num_acceleration_levels=3, num_turn_levels=5, skill_level_runner=0.5)
    np.testing.assert_allclose(world.data.numpy("acceleration_actions"), [0, -1, 0, 1])
    np.testing.assert_allclose(world.data.numpy("turn_actions"), np.array([0, -2, -1, 0, 1, 2]) * np.pi / 4, rtol=1e-6)
    stand(world, [(5, 5), (5, 2)])
    world["acceleration"][0, 0] = -0.75
    world["direction"][0] = 0.25
    world["actions"][0] = torch.tensor([[3, 1], [3, 5]])
    world.step()
    np.testing.assert_allclose(world.data.numpy("speed")[0], [0.25, 0.5])
    np.testing.assert_allclose(
        world.data.numpy("acceleration")[0], [0.25, 0]
    )  # at its highest speed nobody accelerates on
    np.testing.assert_allclose(world.data.numpy("direction")[0], [0.25 + 1.5 * np.pi, 0.25 + 0.5 * np.pi], rtol=1e-6)


# ---- starts ---------------------------------------------------------------------------------------------------------


def starts(world: World, episodes: int) -> np.ndarray:
    """(episodes, envs, agents, 3): x, y and direction after each of some resets."""
    found = []
    for _ in range(episodes):
        world.reset()
        found.append(torch.stack([world[name] for name in ("loc_x", "loc_y", "direction")], -1).cpu().numpy().copy())
    return np.stack(found)


@pytest.mark.parametrize(("taggers", "runners", "distance"), [(1, 10, 0.01), (5, 20, 0.15), (2, 3, 0.4)])
def test_random_starts_are_anywhere_and_out_of_reach(taggers: int, runners: int, distance: float) -> None:
    world = make(200, num_taggers=taggers, num_runners=runners, tagging_distance=distance, grid_length=7.0)
    found = starts(world, 5)
    places = found[..., :2].astype(np.float64)
    assert places.min() >= 0 and places.max() < 7
    apart = np.linalg.norm(places[:, :, taggers:, None] - places[:, :, None, :taggers], axis=-1)
    assert apart.min() >= distance * 7 - 1e-6
    assert len(np.unique(found.reshape(-1, 3), axis=0)) == found.size // 3  # others in each env and episode
    spread = places[:, :, :taggers].reshape(-1, 2) / 7
    np.testing.assert_allclose(spread.mean(0), 0.5, atol=0.04)
    np.testing.assert_allclose(np.histogram(spread[:, 0], 4, (0, 1))[0] / len(spread), 0.25, atol=0.05)
    turns, counts = np.unique(found[..., 2], return_counts=True)
    np.testing.assert_allclose(turns, np.arange(4) * np.pi / 2, rtol=1e-6)
    np.testing.assert_allclose(counts / counts.sum(), 0.25, atol=0.05)
    world.step()
    for name in ("still_in_the_game", "num_runners", "speed", "acceleration"):
        world.reset()
        np.testing.assert_array_equal(
            world.data.numpy(name), {"still_in_the_game": 1, "num_runners": runners}.get(name, 0)
        )


def test_a_start_where_nothing_is_out_of_reach() -> None:
    world = make(100, num_taggers=1, num_runners=1, tagging_distance=1.0)
    first = starts(world, 1)[0]
    apart = np.linalg.norm(first[:, 0, :2] - first[:, 1, :2], axis=-1)
    assert apart.min() > 4  # the farthest of many places
    world.step()
    assert world["terminated"].float().mean() > 0.5


def test_random_starts_follow_the_seed() -> None:
    first, same, other = (starts(make(20, seed), 2) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, same)
    assert np.any(first != other)


def test_the_fixed_start_is_warpdrives() -> None:
    world = make(5, num_taggers=2, num_runners=4, start="fixed", start_seed=274880, grid_length=20.0, episode_length=1)
    draws = np.random.RandomState(274880)
    taggers = draws.choice(np.arange(6), 2, replace=False)
    x, y = 20.0 * draws.rand(6), 20.0 * draws.rand(6)
    direction = draws.choice([0, np.pi / 2, np.pi, np.pi * 3 / 2], 6, replace=True)
    order = sorted(taggers) + [i for i in range(6) if i not in taggers]
    for _ in range(3):
        for name, drawn in (("loc_x", x), ("loc_y", y), ("direction", direction)):
            np.testing.assert_array_equal(world.data.numpy(name), [drawn[order].astype(np.float32)] * 5)
        world["actions"] = 1
        world.step()
    np.testing.assert_array_equal(world.data.numpy("agent_types"), [1, 1, 0, 0, 0, 0])


# ---- refused parameters ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (dict(num_taggers=0), "num_taggers=0: expected 1 to 65533"),
        (dict(num_runners=2.0), "num_runners=2.0, expected int"),
        (dict(episode_length=0), "episode_length=0"),
        (dict(grid_length=0), "grid_length=0: expected 1e-09 to 1000000000"),
        (dict(max_speed=float("nan")), "max_speed=nan"),
        (dict(num_turn_levels=-1), "num_turn_levels=-1: expected 0"),
        (dict(num_other_agents_observed=0), "num_other_agents_observed=0"),
        (dict(tagging_distance=1.5), "tagging_distance=1.5: expected 0 to 1"),
        (dict(edge_hit_penalty=0.5), "edge_hit_penalty=0.5: expected a finite number of at most 0"),
        (dict(tag_penalty_for_runner=1), "tag_penalty_for_runner=1"),
        (dict(step_reward_for_runner=-1), "step_reward_for_runner=-1: expected a finite number of at least 0"),
        (dict(tag_reward_for_tagger=float("inf")), "tag_reward_for_tagger=inf: expected a finite number"),
        (dict(max_turn=-2.0), "max_turn=-2.0: expected a finite number of at least -1.57.*, the min_turn"),
        (dict(start="middle"), "start='middle': expected 'random' or 'fixed'"),
        (dict(start_seed=2**32), "start_seed=4294967296"),
    ],
)
def test_impossible_parameters_are_refused(params: dict[str, Any], expected: str) -> None:
    with pytest.raises(DeclarationError, match=expected):
        TagContinuous(**params)


def test_too_many_agents_are_refused() -> None:
    with pytest.raises(DeclarationError) as caught:
        TagContinuous(num_taggers=100, num_runners=65_500)
    assert str(caught.value) == "num_runners=65500: expected 1 to 65434 beside 100 taggers, 65534 agents in all"
