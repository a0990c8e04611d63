"""The rules of tag_continuous: steps against an oracle, from many states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.envs.tag_continuous import tag_continuous_oracle as oracle
from tests.packaged import packaged
from warpworld import World
from warpworld.envs.tag_continuous.tag_continuous import TagContinuous

PLACES = ("loc_x", "loc_y", "speed", "direction", "acceleration", "still_in_the_game")
FEATURES = ("x", "y", "speed", "direction", "acceleration")


class Endless(TagContinuous):
    """Episodes that run on after their end, so that their last state can be looked at."""

    source = str(TagContinuous.source_path())

    def resets(self) -> list[str]:
        return []


# Levels that no sum of them makes 0 or the highest speed.
GENERIC = dict(max_turn=1.01, min_turn=-0.87, max_acceleration=0.113, min_acceleration=-0.127)


def make(num_envs: int, **params: Any) -> World:
    """An endless world on the cpu, after its first reset, which leaves everything to be written."""
    world = World(Endless(**params), num_envs, "cpu", num_workers=1)
    world.reset()
    return world


def params_of(world: World) -> TagContinuous.Params:
    """The world's parameters."""
    assert isinstance(world.environment.params, TagContinuous.Params)
    return world.environment.params


def state_of(world: World) -> oracle.State:
    """A copy of the world's agents."""
    *values, in_game = (world.data.numpy(name).copy() for name in PLACES)
    return oracle.State(*(value.astype(np.float64) for value in values), in_game != 0)


# ---- against the oracle ---------------------------------------------------------------------------------------------


def scatter(world: World, generator: np.random.Generator, crowded: float, gone: float) -> None:
    """Put agents anywhere, moving anyhow; some share places, some lie at edges and corners, some have left."""
    p, shape = params_of(world), (world.num_envs, world.num_agents)
    margin = p.tagging_distance * p.grid_length
    for name in ("loc_x", "loc_y"):
        places = generator.uniform(0.0, p.grid_length, shape)
        near = np.take_along_axis(places, generator.integers(0, p.num_taggers, shape), 1)
        near = near + generator.uniform(-1.5, 1.5, shape) * margin
        same = np.take_along_axis(places, generator.integers(0, world.num_agents, shape), 1)
        edge = generator.choice([0.0, p.grid_length], shape)
        pick = generator.choice(4, shape, p=[1 - crowded, crowded / 2, crowded / 4, crowded / 4])
        world[name] = np.clip(np.choose(pick, [places, near, same, edge]), 0.0, p.grid_length).astype(np.float32)
    skill = np.where(np.arange(world.num_agents) < p.num_taggers, p.skill_level_tagger, p.skill_level_runner)
    fastest = (np.float32(p.max_speed) * skill.astype(np.float32)).astype(np.float32)
    speed = fastest * generator.choice([0.0, 0.5, 1.0], shape).astype(np.float32)
    world["speed"] = np.where(generator.random(shape) < 0.5, speed, generator.random(shape) * fastest).astype(
        np.float32
    )
    world["direction"] = (generator.random(shape) * 6.28).astype(np.float32)
    world["acceleration"] = (generator.normal(size=shape) * 0.3 * p.max_speed).astype(np.float32)
    in_game = generator.random(shape) >= gone
    in_game[:, : p.num_taggers] = True
    in_game[:, -1] |= ~in_game[:, p.num_taggers :].any(1)
    world["still_in_the_game"] = in_game.astype(np.int32)
    world["num_runners"] = in_game[:, p.num_taggers :].sum(1).astype(np.int32)
    late = generator.random(world.num_envs) < 0.3
    early = generator.integers(0, p.episode_length, world.num_envs)
    world["timestep"] = np.where(late, p.episode_length - 1, early).astype(np.int32)


def act(world: World, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random actions: puts them in place; what they change is returned."""
    p, shape = params_of(world), (world.num_envs, world.num_agents)
    acceleration = generator.integers(0, p.num_acceleration_levels + 1, shape)
    turn = generator.integers(0, p.num_turn_levels + 1, shape)
    world["actions"] = np.stack([acceleration, turn], -1).astype(np.int32)
    tables = (world.data.numpy(name).astype(np.float64) for name in ("acceleration_actions", "turn_actions"))
    accelerations, turns = tables
    return accelerations[acceleration], turns[turn]


def compare_step(world: World, generator: np.random.Generator) -> int:
    """A step of an endless world against the oracle, from the world's own state; how many agents were left out."""
    p, before, timestep = params_of(world), state_of(world), world.data.numpy("timestep") + 1
    moved = oracle.move(p, before, *act(world, generator))
    world.step()
    now = state_of(world)
    for name in FEATURES:
        skipped = moved.close_acceleration if name == "acceleration" else np.zeros_like(before.in_game)
        error = getattr(now, name) - getattr(moved.state, name)
        if name == "direction":
            error = np.mod(error + np.pi, 2 * np.pi) - np.pi
        allowed = 2e-6 * (1.0 + np.abs(getattr(now, name)) + now.speed)  # the direction's error moves with the speed
        assert np.all(skipped | (np.abs(error) < allowed)), name

    # The second half from where the kernel has the agents.
    after = oracle.State(now.x, now.y, now.speed, now.direction, now.acceleration, before.in_game)
    outcome = oracle.judge(p, after, timestep)
    rewards = outcome.rewards + oracle.rounded(p).edge_hit_penalty * moved.outside
    skipped = outcome.close | moved.close_outside
    assert np.all(skipped | np.isclose(world.data.numpy("rewards"), rewards, rtol=1e-5, atol=1e-6))
    assert np.all(outcome.close | (now.in_game == outcome.in_game))
    np.testing.assert_array_equal(world.data.numpy("agent_mask"), before.in_game)
    np.testing.assert_array_equal(world.data.numpy("agent_terminated"), before.in_game & ~now.in_game)
    clear = ~outcome.close.any(1)
    for name in ("num_runners", "terminated", "truncated"):
        np.testing.assert_array_equal(world.data.numpy(name)[clear], getattr(outcome, name)[clear])
    seen, close = oracle.observe(p, after, timestep)
    right = np.isclose(world.data.numpy("observations"), seen, rtol=1e-5, atol=2e-6).all(-1)
    assert np.all(close | right)
    return int((skipped | close | moved.close_acceleration).sum())


# Sizes are few, since each compiles: (taggers, runners, others observed, or 0 for all).
SIZES = ((1, 1, 0), (1, 1, 3), (2, 3, 0), (2, 3, 2), (2, 3, 9), (10, 100, 0), (10, 100, 10))
WITH_OWN_STATE = {(1, 1, 3), (2, 3, 0), (10, 100, 10)}


@pytest.mark.heavy
@settings(max_examples=120)
@given(
    size=st.sampled_from(SIZES),
    grid_length=st.floats(0.5, 40.0),
    max_speed=st.floats(0.2, 3.0),
    skill_level_runner=st.floats(0.3, 1.5),
    skill_level_tagger=st.floats(0.3, 1.5),
    max_turn=st.floats(0.1, 7.0),
    max_acceleration=st.floats(0.01, 1.0),
    tagging_distance=st.floats(0.0, 0.4),
    edge_hit_penalty=st.sampled_from((0.0, -0.5)),
    tag_reward_for_tagger=st.sampled_from((1.0, 10.0)),
    step_penalty_for_tagger=st.sampled_from((0.0, -0.25)),
    step_reward_for_runner=st.sampled_from((0.0, 0.125)),
    runner_exits_game_after_tagged=st.booleans(),
    crowded=st.sampled_from((0.0, 0.3)),
    gone=st.sampled_from((0.0, 0.5, 0.95)),
    seed=st.integers(0, 2**32 - 1),
)
@pytest.mark.long
def test_steps_are_the_oracles(
    size: tuple[int, int, int], crowded: float, gone: float, seed: int, **params: Any
) -> None:
    taggers, runners, observed = size
    num_envs = 6 if taggers + runners > 5 else 50
    world = make(
        num_envs,
        num_taggers=taggers,
        num_runners=runners,
        use_full_observation=observed == 0,
        num_other_agents_observed=max(observed, 1),
        observe_own_state=size in WITH_OWN_STATE,
        min_turn=-0.7 * params["max_turn"],
        min_acceleration=-0.9 * params["max_acceleration"],
        **params,
    )
    generator = np.random.default_rng(seed)
    for _ in range(3):
        scatter(world, generator, crowded, gone)
        compare_step(world, generator)
        compare_step(world, generator)


@pytest.mark.parametrize(
    ("taggers", "runners", "observed"),
    [(2, 3, 2), *(pytest.param(10, 100, observed, marks=pytest.mark.heavy) for observed in (0, 10))],
)
def test_few_cases_are_too_close_to_compare(taggers: int, runners: int, observed: int) -> None:
    sizes = dict(num_taggers=taggers, num_runners=runners, num_other_agents_observed=max(observed, 1))
    others = dict(use_full_observation=observed == 0, grid_length=20.0, tagging_distance=0.02)
    world = make(100, **sizes, **others, **GENERIC)
    generator, left_out = np.random.default_rng(1), 0
    for crowded in (0.0, 0.0, 0.3):
        scatter(world, generator, crowded, 0.1)
        left_out += sum(compare_step(world, generator) for _ in range(2))
    assert left_out <= 0.001 * 6 * 100 * (taggers + runners)


@pytest.mark.parametrize(
    ("taggers", "runners", "observed"),
    [
        pytest.param(100, 900, 10, marks=pytest.mark.long),
        pytest.param(512, 513, 2, marks=pytest.mark.long),
        pytest.param(25, 1100, 0, marks=pytest.mark.heavy),
        pytest.param(1000, 1500, 2, marks=pytest.mark.heavy),
    ],
)
def test_steps_of_a_full_block_and_of_crowds_are_the_oracles(taggers: int, runners: int, observed: int) -> None:
    sizes = dict(num_taggers=taggers, num_runners=runners, num_other_agents_observed=max(observed, 1))
    agents = taggers + runners
    world = make(1, grid_length=agents**0.5, use_full_observation=observed == 0, **sizes)
    generator = np.random.default_rng(2)
    scatter(world, generator, 0.1, 0.1)
    assert compare_step(world, generator) < 0.01 * agents


@pytest.mark.parametrize("apart", [0.1, 0.0])
def test_many_candidates_are_cut_down(apart: float) -> None:
    """Agents whose index makes the first bound of the search a loose one: most of them are candidates."""
    sizes = dict(num_taggers=10, num_runners=100, num_other_agents_observed=10, use_full_observation=False)
    world = make(20, grid_length=40.0, **sizes)
    generator = np.random.default_rng(3)
    scatter(world, generator, 0.0, 0.0)
    for name in ("loc_x", "loc_y"):
        close = 5.0 + apart * generator.random((20, 110))
        world[name] = np.where(np.arange(110) % 16 < 10, close, 20.0 + 20.0 * generator.random((20, 110))).astype(
            np.float32
        )
    world["speed"] = 0.0
    world["acceleration"] = 0.0
    world["actions"] = 0
    before, timestep = state_of(world), world.data.numpy("timestep") + 1
    world.step()
    seen, close = oracle.observe(params_of(world), before, timestep)
    assert close.mean() < (0.5 if apart else 0.001)
    clear = ~close
    np.testing.assert_allclose(world.data.numpy("observations")[clear], seen[clear], rtol=1e-5, atol=2e-6)


def test_episodes_are_the_oracles() -> None:
    """With auto-reset: envs that go on, from their own states; what starts, from the start."""
    sizes = dict(num_taggers=3, num_runners=5, num_other_agents_observed=4, use_full_observation=False)
    params = dict(grid_length=6.0, episode_length=23, tagging_distance=0.05, **GENERIC)
    world = packaged(
        "tag_continuous", num_envs=60, device="cpu", num_workers=1, final_observations=True, **sizes, **params
    )
    world.reset()
    p, generator, ends, close = params_of(world), np.random.default_rng(4), 0, 0
    for _ in range(70):
        before, timestep = state_of(world), world.data.numpy("timestep") + 1
        moved = oracle.move(p, before, *act(world, generator))
        world.step()
        outcome = oracle.judge(p, moved.state, timestep)
        seen, close_rows = oracle.observe(p, moved.state, timestep)
        over = (world["terminated"] | world["truncated"]).cpu().numpy()
        clear = ~(outcome.close | moved.close_outside | moved.close_acceleration | close_rows).any(1)
        shown = np.where(over[:, None, None], world.data.numpy("final_observations"), world.data.numpy("observations"))
        np.testing.assert_allclose(shown[clear], seen[clear], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(world.data.numpy("rewards")[clear], outcome.rewards[clear], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(over[clear], (outcome.terminated | outcome.truncated)[clear])
        started, close_rows = oracle.observe(p, state_of(world), np.zeros(60))
        sure = over & ~close_rows.any(1)
        np.testing.assert_allclose(world.data.numpy("observations")[sure], started[sure], rtol=1e-5, atol=2e-6)
        ends += int(over.sum())
        close += int((~clear).sum())
    assert ends > 150 and close < 0.02 * 70 * 60


@pytest.mark.parametrize("wrong", [(-1, 3), (2, 11), (11, -1), (2**31 - 1, -(2**31))])
def test_a_choice_outside_of_its_table_changes_nothing(wrong: tuple[int, int]) -> None:
    """As choice 0 does; beside the tables lies what other arrays hold, or nothing that can be read."""
    right = tuple(action if 0 <= action <= 10 else 0 for action in wrong)
    trajectories = []
    for actions in (wrong, right):
        world = World(TagContinuous(max_acceleration=0.2, min_turn=-0.3), 3, "cpu", seed=5)
        world.reset()
        world["acceleration_actions"][0] = world["turn_actions"][0] = (
            0.125  # whose entries one sees where they are used
        )
        world["actions"] = np.broadcast_to(np.array(actions, np.int32), tuple(world["actions"].shape))
        for _ in range(3):
            world.step()
        trajectories.append(state_of(world))
    for name in (*FEATURES, "in_game"):
        assert np.array_equal(*(getattr(trajectory, name) for trajectory in trajectories)), name
