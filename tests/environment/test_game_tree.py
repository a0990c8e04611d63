"""Exact worth of policies in games that are written out, beside what is known of Kuhn and Leduc poker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from warpworld.environment.game_tree import CHANCE, END, GameTree
from warpworld.envs.poker.kuhn_poker import KuhnPoker
from warpworld.envs.poker.leduc_poker import LeducPoker
from warpworld.envs.poker.poker import game_tree
from warpworld.errors import DeclarationError

KUHN, LEDUC = game_tree(KuhnPoker.rules), game_tree(LeducPoker.rules)


def uniform(tree: GameTree) -> list[np.ndarray]:
    return [mask / mask.sum(1, keepdims=True) for mask in tree.masks]


def equilibrium(alpha: float) -> list[np.ndarray]:
    """Kuhn's equilibria (1950), one for each alpha in [0, 1/3]: how often players bet, by card and what was done."""
    bets = {  # card, passed and bet before
        (0, ()): alpha, (1, ()): 0.0, (2, ()): 3 * alpha,
        (0, (0, 1)): 0.0, (1, (0, 1)): alpha + 1 / 3, (2, (0, 1)): 1.0,
        (0, (0,)): 1 / 3, (1, (0,)): 0.0, (2, (0,)): 1.0,
        (0, (1,)): 0.0, (1, (1,)): 1 / 3, (2, (1,)): 1.0,
    }  # fmt: skip
    found = []
    for seen in KUHN.observations:
        keys = [
            (int(flags[:3].argmax()), tuple(int(made.argmax()) for made in flags[3:].reshape(3, 2) if made.any()))
            for flags in seen
        ]
        bet = np.array([bets[key] for key in keys])
        found.append(np.stack((1 - bet, bet), 1))
    return found


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1 / 3])
def test_equilibria_of_kuhn_poker(alpha: float) -> None:
    """All are worth -1/18 to the first player, and no best response gains."""
    both = equilibrium(alpha)
    assert KUHN.value(both) == pytest.approx(-1 / 18, abs=1e-15)
    assert KUHN.exploitability(both) == pytest.approx(0.0, abs=1e-15)


def test_no_other_alpha_is_an_equilibrium() -> None:
    """With alpha of 1/3 and bets of a king three times in four, the second player gains by a best response."""
    first, second = equilibrium(1 / 3)
    king = KUHN.observations[0][:, 2] & ~KUHN.observations[0][:, 3:].any(1)
    first[king] = [0.25, 0.75]
    assert KUHN.best_response(1, first) > 1 / 18 + 0.01
    assert KUHN.exploitability([first, second]) > 0.005


def test_a_policy_that_is_drawn_evenly() -> None:
    """Kuhn's is 11/24: against it the first player can gain 1/2, the second 5/12. Leduc's is OpenSpiel's 2.373611."""
    assert [len(seen) for seen in KUHN.observations] == [6, 6]
    assert [len(seen) for seen in LEDUC.observations] == [468, 468]
    both = uniform(KUHN)
    assert KUHN.best_response(0, both[1]) == pytest.approx(1 / 2, abs=1e-15)
    assert KUHN.best_response(1, both[0]) == pytest.approx(5 / 12, abs=1e-15)
    assert KUHN.value(both) == pytest.approx(1 / 8, abs=1e-15)
    assert LEDUC.exploitability(uniform(LEDUC)) == pytest.approx(2.3736111111, abs=1e-9)
    assert LEDUC.value(uniform(LEDUC)) == pytest.approx(-0.078125, abs=1e-12)


def test_best_responses_of_kuhn_poker_by_trying_all() -> None:
    """Of all 64 plain policies of a player the best gains what the best response does, against policies at random."""
    generator = np.random.default_rng(0)
    plain = [np.eye(2)[[number >> k & 1 for k in range(6)]] for number in range(64)]
    for _ in range(3):
        both = [generator.dirichlet((1, 1), 6) for _ in range(2)]
        best = max(KUHN.value([mine, both[1]]) for mine in plain), max(-KUHN.value([both[0], mine]) for mine in plain)
        found = KUHN.best_response(0, both[1]), KUHN.best_response(1, both[0])
        assert found == pytest.approx(best, abs=1e-14)


@dataclass(frozen=True)
class Blind:
    """Matching pennies after a toss that only one side's choice depends on; ``shows`` is what player 0 sees."""

    shows: int
    made: tuple[int, ...] = ()

    @property
    def mover(self) -> int:
        """Chance first; then player 0 once or, after tails, chance again and player 0."""
        order = (CHANCE, 0) if self.made[:1] == (0,) else (CHANCE, CHANCE, 0)
        return order[len(self.made)] if len(self.made) < len(order) else END

    @property
    def moves(self) -> Mapping[int, float]:
        """Two of each kind."""
        return {} if self.mover == END else dict.fromkeys((0, 1), 0.5 if self.mover == CHANCE else 1.0)

    @property
    def payoff(self) -> float:
        """The last choice."""
        return float(self.made[-1])

    @property
    def observation(self) -> np.ndarray:
        """How many moves were made, if that is shown."""
        return np.array([self.shows * len(self.made)], np.int32)

    def after(self, move: int) -> Blind:
        """One move more."""
        return Blind(self.shows, (*self.made, move))


def test_positions_that_look_alike_are_equally_deep() -> None:
    with pytest.raises(DeclarationError, match=r"player 0 sees the same after \d moves and after \d"):
        GameTree(Blind(shows=0), 2)
