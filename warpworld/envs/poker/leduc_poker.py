"""Leduc poker."""

from __future__ import annotations

from warpworld.environment import register
from warpworld.envs.poker.poker import Poker
from warpworld.envs.poker.rules import Rules


def _move_of(choice: int, owes: bool) -> int:
    return choice


@register("leduc_poker")
class LeducPoker(Poker):
    """Two players get one of six cards each and bet in two rounds, before and after a public card is shown.

    Source: Southey et al.: "Bayes' bluff: opponent modelling in poker" (2005), as OpenSpiel's ``leduc_poker``. Both put
    in a chip. Actions: 0 fold, 1 call or check, 2 raise, by two chips in the first round and by four in the second, at
    most twice in each. A pair with the public card wins, and else the higher of three ranks; equal ranks share the pot.
    Both players have 936 information sets together.
    """

    source = "leduc_poker.cu"
    rules = Rules(ranks=3, suits=2, rounds=2, moves=4, raises=2, bet=2, choices=3, move_of=_move_of)
    choice_names = ("fold", "call", "raise")
