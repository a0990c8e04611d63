"""Poker beside its rules written out as positions: every course of a game, with every deal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations

import numpy as np
import pytest
import torch

from tests.packaged import packaged
from warpworld.environment import get_environment
from warpworld.environment.game_tree import CHANCE, END
from warpworld.envs.poker.rules import Position

GAMES = ("kuhn_poker", "leduc_poker")
each_game = pytest.mark.parametrize("game", GAMES)


def courses(position: Position, deal: tuple[int, ...], made: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The choices of every game with these cards."""
    if position.mover == END:
        yield made
    elif position.mover == CHANCE:
        yield from courses(position.after(deal[len(position.cards)]), deal, made)
    else:
        for choice in position.moves:
            yield from courses(position.after(choice), deal, (*made, choice))


def dealt(position: Position, deal: tuple[int, ...]) -> Position:
    """The position once chance has dealt what comes before a player's move or the end."""
    while position.mover == CHANCE:
        position = position.after(deal[len(position.cards)])
    return position


@pytest.mark.parametrize(
    "game", ["kuhn_poker", pytest.param("leduc_poker", marks=[pytest.mark.long, pytest.mark.heavy])]
)
def test_every_course_of_every_deal(game: str) -> None:
    """Masks, what movers see, rewards and ends are those of the rules, all of them stepped side by side."""
    rules = get_environment(game)().rules
    deals = list(permutations(range(rules.deck), rules.rounds + 1))
    games = [(deal, course) for deal in deals for course in courses(Position(rules), deal)]
    world = packaged(game, len(games), device="cpu", final_observations=True)
    world.reset()
    world["cards"] = torch.tensor([deal for deal, _ in games], dtype=torch.uint8)
    positions = [dealt(Position(rules), deal) for deal, _ in games]
    over = np.zeros(len(games), bool)
    for step in range(max(len(course) for _, course in games)):
        masks, seen = world.data.numpy("action_mask"), world.data.numpy("observations")
        for env in np.flatnonzero(~over):
            position = positions[env]
            legal = [choice in position.moves for choice in range(rules.choices)]
            assert masks[env, position.mover].tolist() == legal
            assert not masks[env, 1 - position.mover].any()
            if step > 0:  # before, players saw the cards that were drawn
                np.testing.assert_array_equal(seen[env, position.mover], position.observation)
        choices = [course[step] if step < len(course) else 0 for _, course in games]
        movers = [position.mover for position in positions]
        for player in range(2):  # the other's choice counts for nothing
            own = [
                choice if mover == player else (choice + 1) % rules.choices
                for choice, mover in zip(choices, movers, strict=True)
            ]
            world["actions"][:, player, 0] = torch.tensor(own)
        world.step()
        for env in np.flatnonzero(~over):
            deal, course = games[env]
            positions[env] = dealt(positions[env].after(course[step]), deal)
            ends = positions[env].mover == END
            gain = positions[env].payoff if ends else 0.0
            assert world["rewards"][env].tolist() == [gain, -gain], games[env]
            assert bool(world["terminated"][env]) == ends, games[env]
            over[env] = ends
    assert over.all()


@each_game
def test_all_deals_have_the_same_probability(game: str) -> None:
    """By a chi-squared test that chance passes 999 times in 1,000; players see their own card alone."""
    rules = get_environment(game)().rules
    count = rules.rounds + 1
    deals = list(permutations(range(rules.deck), count))
    world = packaged(game, 200 * len(deals), device="cpu", seed=5)
    world.reset()
    cards = world.data.numpy("cards")
    found = Counter(map(tuple, cards.tolist()))
    assert found.keys() == set(deals)
    statistic = sum((found[deal] - 200) ** 2 / 200 for deal in deals)
    freedom = len(deals) - 1
    limit = freedom * (1 - 2 / (9 * freedom) + 3.0902 * np.sqrt(2 / (9 * freedom))) ** 3  # Wilson and Hilferty
    assert statistic < limit
    shown = world.data.numpy("observations")
    np.testing.assert_array_equal(shown[:, :, : rules.deck].argmax(2), cards[:, :2])
    assert (shown.sum(2) == 1).all()


def test_a_choice_that_is_not_legal_folds() -> None:
    world = packaged("leduc_poker", 2, device="cpu")
    world.reset()
    world["actions"] = torch.tensor([[[0], [0]], [[2], [2]]], dtype=torch.int32)  # to fold without a debt; to raise
    world.step()
    assert world["rewards"].tolist() == [[-1.0, 1.0], [0.0, 0.0]]
    world["actions"] = 2
    for _ in range(2):
        assert not world["terminated"][1]
        world.step()
    assert world["terminated"][1] and world["rewards"][1].tolist() == [-3.0, 3.0]  # a third raise
