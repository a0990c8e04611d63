"""Games on a board beside PettingZoo's, move by move; and what their rules and turns are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete, MultiBinary

import warpworld
from tests.cases import often
from tests.envs.board.original import Original
from tests.packaged import packaged
from warpworld import World
from warpworld.config import load_config
from warpworld.environment import get_environment
from warpworld.trainers.collecting.players import Player, Scripted
from warpworld.trainers.play import play_groups

GAMES = {"connect_four": ((6, 7), 7), "tic_tac_toe": ((3, 3), 9)}
each_game = pytest.mark.parametrize("game", GAMES)


def play(world: World, *actions: int) -> None:
    """Make these moves in every env."""
    for action in actions:
        world["actions"] = action
        world.step()


def walk(game: str, games: int, illegal: float) -> dict[str, int]:
    """Play games side by side; all masks, observations, rewards and ends are equal. Returns how they ended."""
    world, original, generator = packaged(game, 1, device="cpu"), Original(game), np.random.default_rng(2)
    world.reset()
    happened = dict.fromkeys(("first", "second", "drawn", "illegal", "moves"), 0)
    for _ in range(games):
        ended = False
        while not ended:
            masks = original.masks()
            np.testing.assert_array_equal(world.data.numpy("action_mask")[0], masks)
            np.testing.assert_array_equal(world.data.numpy("observations")[0], original.seen())
            player = int(world["to_move"][0])
            is_illegal = generator.random() < illegal and not masks[player].all()
            action = int(generator.choice(np.flatnonzero(masks[player] != is_illegal)))
            world["actions"][:, player], world["actions"][:, 1 - player] = action, int(generator.integers(3))
            world.step()
            rewards, ended = original.step(action)
            assert world["rewards"][0].tolist() == rewards
            assert (bool(world["terminated"][0]), bool(world["truncated"][0])) == (ended, False)
            happened["moves"] += 1
            if ended:
                outcome = "illegal" if is_illegal else {1.0: "first", -1.0: "second", 0.0: "drawn"}[rewards[0]]
                happened[outcome] += 1
                original.reset()
    return happened


@pytest.mark.long
@each_game
def test_pettingzoo_plays_the_same(game: str) -> None:
    happened = walk(game, games=60, illegal=0.02)
    assert all(count > 0 for outcome, count in happened.items() if outcome != "drawn"), happened


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("game", often(["tic_tac_toe"], ["connect_four", "tic_tac_toe"]))
def test_pettingzoo_plays_the_same_for_long(game: str) -> None:
    happened = walk(game, games=3000, illegal=0.002)
    assert all(count > 0 for count in happened.values()), happened


@each_game
def test_spaces(game: str) -> None:
    board, choices = GAMES[game]
    groups = get_environment(game)().groups()
    assert [(group.name, group.size) for group in groups] == [("first", 1), ("second", 1)]
    assert all(group.observation == MultiBinary((2, *board)) for group in groups)
    assert all(group.action == Discrete(choices) for group in groups)


LINES = [
    ("tic_tac_toe", 0, (1, 1)),
    ("tic_tac_toe", 2, (1, -1)),
    ("tic_tac_toe", 3, (0, 1)),
    ("tic_tac_toe", 2, (1, 0)),
    ("connect_four", 17, (0, 1)),
    ("connect_four", 20, (1, 0)),
    ("connect_four", 3, (1, -1)),
    ("connect_four", 17, (1, 1)),
]


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("game", "start", "direction"), LINES)
def test_a_line_wins_whichever_of_its_stones_comes_last(
    game: str, start: int, direction: tuple[int, int], player: int
) -> None:
    """In a line through the board, the last stone of which is put where it is missing."""
    (rows, columns), _ = GAMES[game]
    length = 3 if game == "tic_tac_toe" else 4
    line = [start + k * (direction[0] * columns + direction[1]) for k in range(length)]
    for missing in line:
        world = packaged(game, 1, device="cpu")
        world.reset()
        cells = np.zeros(rows * columns, np.uint8)
        cells[[cell for cell in line if cell != missing]] = player + 1
        if game == "connect_four":  # stones lie below it
            below = np.arange(missing + columns, rows * columns, columns)
            cells[below[cells[below] == 0]] = 2 - player
        world["cells"] = torch.from_numpy(cells.reshape(1, rows, columns))
        world["to_move"] = player
        play(world, missing % columns if game == "connect_four" else missing)
        assert world["rewards"].tolist() == [[1.0, -1.0] if player == 0 else [-1.0, 1.0]]
        assert bool(world["terminated"][0])


def test_a_line_does_not_continue_at_the_other_edge() -> None:
    world = packaged("connect_four", 1, device="cpu")
    world.reset()
    play(world, 5, 0, 6, 6, 0, 5, 1)  # three of the first player's beside each other, across the edges
    assert not world["terminated"].any() and world["timestep"].tolist() == [7]


@each_game
def test_a_move_that_is_not_legal_ends_the_game_and_costs_its_player(game: str) -> None:
    world = packaged(game, 1, device="cpu", final_observations=True)
    world.reset()
    moves = [0] * 6 if game == "connect_four" else [0]
    play(world, *moves, 0)
    mover = len(moves) % 2
    assert bool(world["terminated"][0])
    assert world["rewards"][0, mover] == -1.0 and world["rewards"][0, 1 - mover] == 0.0
    assert int(world["final_observations"][0, 0].sum()) == len(moves)  # the board is as it was


def test_a_full_board_without_a_line_is_drawn() -> None:
    world = packaged("tic_tac_toe", 1, device="cpu")
    world.reset()
    play(world, 0, 1, 2, 4, 3, 5, 7, 6)
    assert not world["terminated"].any()
    play(world, 8)
    assert bool(world["terminated"][0]) and world["rewards"].tolist() == [[0.0, 0.0]]


@each_game
def test_adapters_agents_take_turns_by_their_masks(game: str) -> None:
    """Through PettingZoo's AEC interface, in which the one whose turn it is not may do nothing that counts."""
    pytest.importorskip("pettingzoo", reason="pettingzoo is not installed; pip install 'warpworld[adapters]'")
    env: Any = warpworld.make(game, api="aec", device="cpu")
    env.reset(seed=3)
    assert env.possible_agents == ["first_0", "second_0"]
    made = dict.fromkeys(env.possible_agents, 0)
    for agent in env.agent_iter():
        _, _, ended, cut, info = env.last()
        if ended or cut:
            env.step(None)
            continue
        made[agent] += int(info["action_mask"].any())
        env.step(env.action_space(agent).sample(info["action_mask"]))
    assert made["first_0"] - made["second_0"] in (0, 1) and made["second_0"] >= 2


def test_a_perfect_player_of_tic_tac_toe_never_loses() -> None:
    """Against itself it draws; against one who draws lots it wins mostly, from either side."""
    perfect: Player = Scripted("perfect", get_environment("tic_tac_toe")().scripts()["perfect"])
    config = load_config("tic_tac_toe")
    drawn = play_groups(config, {"first": perfect, "second": perfect}, 200, seed=1)
    assert drawn["first"].unique().tolist() == [0.0]
    as_first = play_groups(config, {"first": perfect, "second": None}, 200, seed=1)["first"]
    as_second = play_groups(config, {"first": None, "second": perfect}, 200, seed=1)["second"]
    assert as_first.min() == 0.0 and as_first.mean() > 0.9
    assert as_second.min() == 0.0 and as_second.mean() > 0.6
