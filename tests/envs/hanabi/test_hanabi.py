"""Hanabi against an oracle in plain Python and against the Hanabi Learning Environment."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.hanabi.games import GAMES, act, chosen, dealt
from tests.envs.hanabi.hanabi_oracle import Table
from warpworld import World
from warpworld.config import config_from_dict
from warpworld.envs.hanabi.hanabi import Hanabi
from warpworld.errors import DeclarationError
from warpworld.trainers.trainer import Trainer

MINI = GAMES["mini"]


def seen(world: World) -> np.ndarray:
    """What players saw at the end of the last step."""
    ended = world.data.numpy("terminated")[:, None, None]
    return np.where(ended, world.data.numpy("final_observations"), world.data.numpy("observations"))


def masks_of(table: Table) -> np.ndarray:
    """(players, choices) bool."""
    mask = np.zeros((table.players, len(table.choices)), bool)
    mask[table.to_move, table.legal()] = True
    return mask


@pytest.mark.long
@pytest.mark.parametrize("game", [pytest.param(game, marks=[pytest.mark.heavy] * ("play" in game)) for game in GAMES])
def test_games_are_the_oracles(game: str) -> None:
    """Each flag of each player, masks, rewards, scores and ends, in games that end in any way."""
    world = dealt(GAMES[game], num_envs=3, seed=3)
    params, players = world.environment.params, world.environment.params.players
    generator = np.random.default_rng(1)
    tables = [Table(params, deck) for deck in world.data.numpy("deck")]
    ends: Counter[str] = Counter()
    np.testing.assert_array_equal(seen(world), [[t.seen_by(k) for k in range(players)] for t in tables])
    for _ in range(100):
        np.testing.assert_array_equal(world.data.numpy("action_mask"), [masks_of(table) for table in tables])
        made = act(world, chosen(world, generator))
        rewards = [table.step(choice) for table, choice in zip(tables, made, strict=True)]
        np.testing.assert_array_equal(world.data.numpy("rewards"), [[reward] * players for reward in rewards])
        np.testing.assert_array_equal(world.data.numpy("terminated"), [table.is_over for table in tables])
        np.testing.assert_array_equal(seen(world), [[t.seen_by(k) for k in range(players)] for t in tables])
        for env, table in enumerate(tables):
            if table.is_over:
                ends["lost" if table.lives == 0 else "cards" if table.turns_left == 0 else "complete"] += 1
                tables[env] = Table(params, world.data.numpy("deck")[env])
        np.testing.assert_array_equal(world.data.numpy("score"), [table.score for table in tables])
    assert ends.keys() == {"lost", "cards", "complete"} if game == "small" else ends


@pytest.mark.long
@pytest.mark.parametrize("game", ["small", "mini"])
def test_other_play_is_the_same_game_in_each_player_s_colours(game: str) -> None:
    """An oracle's game for each player, with the deck and all choices in the order that the player has."""
    world = dealt({**GAMES[game], "other_play": True}, num_envs=4, seed=3)
    params = world.environment.params
    players, first = params.players, 2 * params.hand
    generator = np.random.default_rng(1)

    def begun(env: int) -> list[Table]:
        deck = [divmod(int(kind), params.ranks) for kind in world.data.numpy("deck")[env]]
        orders = world.data.numpy("color_order")[env]
        return [Table(params, [int(order[color]) * params.ranks + rank for color, rank in deck]) for order in orders]

    def as_seen(choice: int, meant_by: np.ndarray, order: np.ndarray) -> int:
        offset, color = divmod(choice - first, params.colors)
        if choice < first or offset >= players - 1:
            return choice
        return first + offset * params.colors + int(order[np.flatnonzero(meant_by == color)[0]])

    games = [begun(env) for env in range(4)]
    revealed = ends = 0
    for _ in range(150):
        masks = [[masks_of(own)[player] for player, own in enumerate(tables)] for tables in games]
        np.testing.assert_array_equal(world.data.numpy("action_mask"), masks)
        orders, movers = world.data.numpy("color_order").copy(), world.data.numpy("to_move").copy()
        made = act(world, chosen(world, generator))
        revealed += sum(first <= choice < first + (players - 1) * params.colors for choice in made)
        for env, choice in enumerate(made):
            meant_by = orders[env, movers[env]]
            rewards = [own.step(as_seen(choice, meant_by, orders[env, k])) for k, own in enumerate(games[env])]
            np.testing.assert_array_equal(world.data.numpy("rewards")[env], rewards)
        views = [[own.seen_by(player) for player, own in enumerate(tables)] for tables in games]
        np.testing.assert_array_equal(seen(world), views)
        for env in np.flatnonzero(world.data.numpy("terminated")):
            games[env] = begun(env)
            ends += 1
    assert revealed > 50
    assert ends > 4


def test_all_orders_of_colours_have_the_same_probability() -> None:
    world = dealt({**MINI, "other_play": True}, num_envs=2400, seed=1)
    counts = Counter(tuple(order) for order in world.data.numpy("color_order").reshape(-1, 6).tolist())
    assert len(counts) == 36, "each of the six orders of one player beside each of the other's"
    assert max(abs(count - 2400 / 36) for count in counts.values()) < 5 * (2400 / 36) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_games_are_the_learning_environment_s(game: str) -> None:
    """100,000 moves over all games, from decks of ours: flags and masks of all players, rewards and ends, exactly."""
    pytest.importorskip("hanabi_learning_environment", reason="pip install hanabi-learning-environment")
    from tests.envs.hanabi.original import Original

    num_envs, steps = 100, 125
    world = dealt({**GAMES[game], "lowest_rank_copies": 3}, num_envs, seed=11)
    generator = np.random.default_rng(2)
    players = world.environment.params.players
    originals = [Original(world.environment.params) for _ in range(num_envs)]
    for original, deck in zip(originals, world.data.numpy("deck"), strict=True):
        original.begin(deck)
    np.testing.assert_array_equal(seen(world), [original.seen() for original in originals])
    for _ in range(steps):
        np.testing.assert_array_equal(world.data.numpy("action_mask"), [original.legal() for original in originals])
        made = act(world, chosen(world, generator))
        outcomes = [original.step(choice) for original, choice in zip(originals, made, strict=True)]
        rewards, ends = (np.array(each) for each in zip(*outcomes, strict=True))
        np.testing.assert_array_equal(world.data.numpy("rewards"), np.repeat(rewards[:, None], players, 1))
        np.testing.assert_array_equal(world.data.numpy("terminated"), ends)
        np.testing.assert_array_equal(seen(world), [original.seen() for original in originals])
        for env in np.flatnonzero(ends):
            originals[env].begin(world.data.numpy("deck")[env])


def test_all_deals_have_the_same_probability() -> None:
    """Each place of mini-Hanabi's deck has each kind as often as it should: chi-squared, passed 999 times in 1,000."""
    world = dealt(MINI, num_envs=4000, seed=5)
    decks = world.data.numpy("deck")
    copies = np.tile([2, 2, 1], 3)
    assert (np.sort(decks, 1) == np.repeat(np.arange(9), copies)).all()
    counts = np.stack([(decks == kind).sum(0) for kind in range(9)])
    expected = len(decks) * copies[:, None] / 15
    statistic = ((counts - expected) ** 2 / expected).sum() * 14 / 15  # a deck's places are drawn without replacement
    freedom = 8 * 14
    limit = freedom * (1 - 2 / (9 * freedom) + 3.0902 * np.sqrt(2 / (9 * freedom))) ** 3  # Wilson and Hilferty
    assert statistic < limit


def test_a_deck_that_is_set_is_the_one_that_is_played() -> None:
    """Two players who always play their oldest card complete three fireworks of three cards: both earn 9."""
    world = dealt(MINI, num_envs=1, seed=0)
    world["deck"][0, :9] = torch.tensor([0, 6, 4, 3, 1, 7, 2, 5, 8], dtype=torch.uint8)
    earned = np.zeros(2)
    for _ in range(9):
        assert not world["terminated"][0]
        act(world, np.full((1, 2), 3))
        earned += world.data.numpy("rewards")[0]
    assert earned.tolist() == [9, 9]
    assert world["terminated"][0]


def test_the_last_life_takes_what_was_scored_and_so_does_a_choice_that_is_not_legal() -> None:
    """Without a missing token no card can be discarded."""
    world = dealt(MINI, num_envs=2, seed=0)
    world["lives"][...] = 1
    world["deck"][:, :6] = torch.tensor([0, 3, 6, 0, 1, 2], dtype=torch.uint8)
    act(world, np.full((2, 2), 3))
    assert world["rewards"].tolist() == [[1.0, 1.0]] * 2
    act(world, np.array([[0, 3], [3, 0]]))  # a second 1 of a colour, and a card that cannot be discarded
    assert world["rewards"].tolist() == [[-1.0, -1.0]] * 2
    assert world["terminated"].tolist() == [True, True]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (dict(players=6), "players=6: expected 2 to 5"),
        (dict(colors=0), "colors=0: expected 1 to 5"),
        (dict(colors=1, players=3), "hand_size=5: expected 0 to 3, as 3 hands come from 10 cards"),
        (dict(hand_size=9), "hand_size=9: expected 0 to 8"),
        (dict(max_life_tokens=0), "max_life_tokens=0: expected 1 to 64"),
    ],
)
def test_wrong_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Hanabi(**params)
    assert str(caught.value).endswith(message)


@pytest.mark.parametrize("other_play", [False, True])
def test_players_see_the_choice_that_the_last_one_valued_most(other_play: bool) -> None:
    """Behind all other flags, in the colours of each; where no learner says it, it is the choice that was made."""
    plain = dealt({**MINI, "other_play": other_play}, num_envs=20, seed=4)
    world = dealt({**MINI, "other_play": other_play, "greedy_input": True}, num_envs=20, seed=4)
    params, choices = world.environment.params, world["action_mask"].shape[-1]
    first, generator = 2 * params.hand, np.random.default_rng(3)
    hinted = 0
    assert not seen(world)[..., -choices:].any()
    for step in range(30):
        movers, orders = world.data.numpy("to_move").copy(), world.data.numpy("color_order").copy()
        actions = chosen(world, generator)
        if step >= 10:
            world["greedy_choice"][...] = torch.tensor(generator.integers(0, choices, (20, 2)), dtype=torch.int32)
        valued = world.data.numpy("greedy_choice").copy() if step >= 10 else actions
        act(plain, actions)
        act(world, actions)
        np.testing.assert_array_equal(seen(world)[..., :-choices], seen(plain))
        for env, mover in enumerate(movers):
            expected = np.full(2, valued[env, mover])
            if other_play and first <= expected[0] < first + params.colors:
                meant = np.flatnonzero(orders[env, mover] == expected[0] - first)[0]
                expected, hinted = first + orders[env, :, meant], hinted + 1
            np.testing.assert_array_equal(seen(world)[env, :, -choices:].nonzero()[1], expected)
    assert hinted > 50 or not other_play


def test_a_learner_of_values_says_what_it_values_most() -> None:
    """All its moves are random here, and its teammate still sees what it would have done."""
    entry = {"algorithm": "vdn", "model": {"hidden_sizes": [8]}, "exploration": 1.0, "learning_starts": 100_000}
    trainer = Trainer(
        config_from_dict(
            {
                "name": "hanabi",
                "env": {**MINI, "greedy_input": True},
                "trainer": {"num_envs": 100, "num_steps": 5, "total_env_steps": 10_000, "device": "cpu"},
                "policy": {"player": entry},
            }
        )
    )
    trainer.collector.collect()
    arrays = {
        name: trainer.world.data.numpy(name) for name in ("last_choice", "last_greedy", "to_move", "greedy_choice")
    }
    went = np.flatnonzero(arrays["last_choice"] >= 0)
    before = 1 - arrays["to_move"][went]
    np.testing.assert_array_equal(arrays["last_greedy"][went], arrays["greedy_choice"][went, before])
    assert 0.5 < (arrays["last_greedy"] != arrays["last_choice"])[went].mean() < 1, "one of some seven legal choices"
