"""Kuhn poker."""

from __future__ import annotations

from warpworld.environment import register
from warpworld.envs.poker.poker import Poker
from warpworld.envs.poker.rules import CALL, FOLD, RAISE, Rules


def _move_of(choice: int, owes: bool) -> int:
    if choice == 0:
        return FOLD if owes else CALL
    return CALL if owes else RAISE


@register("kuhn_poker")
class KuhnPoker(Poker):
    """Two players get one of three cards each and bet a chip or pass; the higher card wins the pot.

    Source: Kuhn: "A simplified two-person poker" (1950), as OpenSpiel's ``kuhn_poker``. Both put in a chip. Actions: 0
    pass, 1 bet. Who passes after a bet folds; who bets after it calls. Each player has six information sets. In every
    equilibrium the first player loses 1/18 of a chip on average.
    """

    source = "kuhn_poker.cu"
    rules = Rules(ranks=3, suits=1, rounds=1, moves=3, raises=1, bet=1, choices=2, move_of=_move_of)
    choice_names = ("pass", "bet")
