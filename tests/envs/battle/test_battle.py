"""Battle against the same rules in plain loops, and its rules one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.envs.battle.battle_oracle import actions_of
from tests.envs.battle.battles import act, anywhere, battle_world, compare_step, place, soldiers_of
from warpworld.envs.battle.battle import Battle
from warpworld.errors import DeclarationError

DUEL = dict(army_size=2, map_size=12, view_radius=3)
KNOWN = actions_of(Battle.Params(army_size=2, map_size=12))
STAY = KNOWN.index(((0, 0), False))


def walk(x: int, y: int) -> int:
    return KNOWN.index(((x, y), False))


def strike(x: int, y: int) -> int:
    return KNOWN.index(((x, y), True))


@pytest.mark.long
@pytest.mark.parametrize(
    "params",
    [
        dict(army_size=20, map_size=12, view_radius=3, damage=4.0),
        dict(army_size=20, map_size=14, view_radius=4, move_radius=3.0, attack_radius=2.3, step_recover=0.7),
        dict(army_size=40, map_size=16, view_radius=9, kill_reward=2.0, dead_penalty=-3.0, damage=3.0),
    ],
)
def test_every_step_is_the_oracles(params: dict[str, Any]) -> None:
    lost_races, deaths = fight(params, rounds=3, steps=10, seed=0)
    assert deaths > 5 and lost_races > 1


@pytest.mark.long
@pytest.mark.parametrize("army_size", [513, pytest.param(1500, marks=pytest.mark.heavy)])
def test_steps_of_more_soldiers_than_a_block_has_threads_are_the_oracles(army_size: int) -> None:
    side = int(1.7 * army_size**0.5)
    params = dict(army_size=army_size, map_size=side, view_radius=3, damage=4.0)
    lost_races, deaths = fight(params, rounds=1, steps=3, seed=army_size)
    assert deaths > 20 and lost_races > 5


def fight(params: dict[str, Any], rounds: int, steps: int, seed: int) -> tuple[int, int]:
    """Compare steps from random places with the oracle's; how many wanted a cell in vain, and how many died."""
    world = battle_world(**params)
    p, generator = world.environment.params, np.random.default_rng(seed)
    strikes = np.array([strikes for _, strikes in actions_of(p)])
    odds = np.where(strikes, 4.0, 1.0) / np.where(strikes, 4.0, 1.0).sum()
    viewers = generator.permutation(2 * p.army_size)[:100]
    outcomes = []
    for _ in range(rounds):
        place(world, anywhere(p, generator), hp=generator.uniform(0.1, 5.0, 2 * p.army_size))
        for _ in range(steps):
            actions = generator.choice(len(odds), 2 * p.army_size, p=odds)
            outcomes.append(compare_step(world, actions.tolist(), viewers.tolist()))
    return sum(outcome.lost_races for outcome in outcomes), sum(sum(outcome.died) for outcome in outcomes)


# ---- one rule at a time ---------------------------------------------------------------------------------------------


def test_five_strikes_leave_a_soldier_standing_and_the_sixth_kills() -> None:
    world = battle_world(**DUEL)
    place(world, [(5, 5), (1, 1), (6, 5), (10, 10)])
    for expected in (8.1, 6.2, 4.3, 2.4, 0.5):
        act(world, [strike(1, 0), STAY, STAY, STAY])
        assert world["hp"][0, 2].item() == pytest.approx(expected, abs=1e-5)
        assert world["rewards"][0].tolist() == pytest.approx([0.095, -0.005, -0.005, -0.005])
    act(world, [strike(1, 0), STAY, STAY, STAY])
    assert world["rewards"][0].tolist() == pytest.approx([4.895, -0.005, -0.1, -0.005])
    assert world["agent_terminated"][0].tolist() == [False, False, True, False]
    assert world["left"][0].tolist() == [2, 1]
    assert world["kills"][0].tolist() == [1, 0, 0, 0]
    act(world, [STAY] * 4)
    assert world["agent_mask"][0].tolist() == [True, True, False, True]
    assert world["rewards"][0, 2].item() == 0.0 and not world["observations"][0, 2].any()


def test_enemies_that_strike_each_other_at_once_both_die() -> None:
    world = battle_world(**DUEL)
    place(world, [(5, 5), (1, 1), (6, 5), (10, 10)], hp=[1.0, 10.0, 1.0, 10.0])
    act(world, [strike(1, 0), STAY, strike(1, 0), STAY])  # each towards the other: blue's x is mirrored
    assert world["left"][0].tolist() == [1, 1]
    assert world["rewards"][0].tolist() == pytest.approx([4.9, -0.005, 4.9, -0.005])


def test_one_of_several_attackers_is_paid_for_the_kill_by_the_order_of_the_step() -> None:
    for turn, killer in ((0, 0), (1, 1), (2, 0), (3, 1)):
        world = battle_world(**DUEL)
        place(world, [(5, 5), (6, 4), (6, 5), (10, 10)], hp=[10.0, 10.0, 1.0, 10.0], turn=turn)
        act(world, [strike(1, 0), strike(0, 1), STAY, STAY])
        assert world["kills"][0].tolist() == [int(agent == killer) for agent in range(4)]


def test_friends_walls_and_empty_cells_are_struck_in_vain() -> None:
    world = battle_world(**DUEL)
    place(world, [(1, 5), (2, 5), (8, 8), (10, 10)])
    act(world, [strike(1, 0), strike(0, 1), STAY, strike(-1, 0)])
    assert world["rewards"][0].tolist() == pytest.approx([-0.105, -0.105, -0.005, -0.105])
    assert world["hp"][0].tolist() == [10.0] * 4


def test_of_two_who_want_a_cell_the_first_in_the_order_gets_it() -> None:
    for turn, winner in ((0, 0), (2, 2)):
        world = battle_world(**DUEL)
        place(world, [(4, 5), (1, 1), (6, 5), (10, 10)], turn=turn)
        act(world, [walk(1, 0), STAY, walk(1, 0), STAY])
        cells = [soldier.cell for soldier in soldiers_of(world)]
        assert cells == [(5, 5) if winner == 0 else (4, 5), (1, 1), (5, 5) if winner == 2 else (6, 5), (10, 10)]


def test_a_cell_that_is_left_in_this_step_is_not_yet_free_but_that_of_a_dead_soldier_is() -> None:
    world = battle_world(**DUEL)
    place(world, [(4, 5), (5, 5), (8, 8), (10, 10)])
    act(world, [walk(1, 0), walk(1, 0), STAY, STAY])
    assert [soldier.cell for soldier in soldiers_of(world)][:2] == [(4, 5), (6, 5)]
    place(world, [(4, 5), (5, 6), (5, 5), (10, 10)], hp=[10.0, 10.0, 1.0, 10.0])
    act(world, [walk(1, 0), strike(0, -1), STAY, STAY])
    assert [soldier.cell for soldier in soldiers_of(world)][:3] == [(5, 5), (5, 6), None]


def test_nobody_leaves_the_map() -> None:
    world = battle_world(**DUEL)
    place(world, [(1, 5), (1, 1), (10, 5), (10, 10)])
    act(world, [walk(-2, 0), walk(0, -2), walk(-1, 0), walk(0, 2)])
    assert [soldier.cell for soldier in soldiers_of(world)] == [(1, 5), (1, 1), (10, 5), (10, 10)]


def test_an_army_that_is_dead_has_lost_and_time_runs_out() -> None:
    world = battle_world(**DUEL, episode_length=2)
    place(world, [(5, 5), (1, 1), (6, 5), None], hp=[10.0, 10.0, 1.0, 0.0])
    act(world, [strike(1, 0), STAY, STAY, STAY])
    assert (world["terminated"].tolist(), world["truncated"].tolist()) == ([True], [False])
    for _ in range(2):
        act(world, [STAY] * 4)
    assert (world["terminated"].tolist(), world["truncated"].tolist()) == ([False], [True])


def test_armies_start_in_mirrored_blocks_at_heights_of_their_own() -> None:
    world = battle_world(50, army_size=9, map_size=20)
    heights = set()
    for env in range(50):
        cells = [soldier.cell for soldier in soldiers_of(world, env)]
        red, blue = np.array(cells[:9]), np.array(cells[9:])
        np.testing.assert_array_equal(red[:, 0], 19 - blue[:, 0])
        np.testing.assert_array_equal(red - red[0], [[-2 * (k // 3), 2 * (k % 3)] for k in range(9)])
        heights.add((int(red[0, 1]), int(blue[0, 1])))
    assert len(heights) > 25
    assert {y for pair in heights for y in pair} <= set(range(1, 15))


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"army_size": 32768, "map_size": 1024},
            "army_size=32768: expected 1 to 32767",
        ),
        (
            {"army_size": 200, "map_size": 20},
            "army_size=200: at most 126 soldiers fit their side of a map of map_size=20",
        ),
        ({"map_size": 11}, "map_size=11: expected 12 to 1024"),
        ({"episode_length": 0}, "episode_length=0: expected 1 to 2^31 - 1"),
        ({"view_radius": 33}, "view_radius=33: expected 1 to 32"),
        ({"move_radius": 7.0}, "move_radius=7.0: expected 1 to 6, the view_radius"),
        ({"attack_radius": 0.5}, "attack_radius=0.5: expected 1 to 6, the view_radius"),
        ({"max_hp": 0.0}, "max_hp=0.0: expected a finite number above 0"),
        ({"damage": -1.0}, "damage=-1.0: expected a finite number of at least 0"),
        ({"kill_reward": float("inf")}, "kill_reward=inf: expected a finite number"),
    ],
)
def test_parameters_that_make_no_battle_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        Battle(**params)
    assert str(error.value).endswith(message)
