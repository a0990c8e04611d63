"""Base of games of poker for two: hidden cards, bets by turns under action masks, and exact exploitability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar

import numpy as np
from gymnasium.spaces import Discrete, MultiBinary

from warpworld.drawing import Discs, Drawing, Mark, Rectangles, Text
from warpworld.environment import Array, Environment, Group, Probabilities
from warpworld.environment.game_tree import GameTree
from warpworld.envs.poker.rules import PLAYERS, Position, Rules

NAMES = ("first", "second")


class Poker(Environment):
    """A game in which two players with a card each bet by turns on which is worth more.

    Attributes:
        rules: of the game.
        choice_names: of a player; their first letters are the keys.
        faces: of the ranks, the lowest first.
    """

    rules: ClassVar[Rules]
    choice_names: ClassVar[tuple[str, ...]]
    faces: ClassVar[str] = "JQK"

    def groups(self) -> Sequence[Group]:
        """The first and the second player, who see their own card and all that is public."""
        seen, choices = MultiBinary(self.rules.flags), Discrete(self.rules.choices)
        names, keys = self.choice_names, tuple(name[0] for name in self.choice_names)
        return [Group(name, 1, seen, choices, action_names=names, action_keys=keys) for name in NAMES]

    def arrays(self) -> Sequence[Array]:
        """Cards, moves and chips."""
        rules = self.rules
        most = rules.raises * rules.bet * (2**rules.rounds - 1) + 1
        cards, moves = (rules.rounds + 1,), (rules.rounds, rules.moves)
        return [
            Array(
                "cards", "uint8", cards, per="env", bounds=(0, rules.deck - 1), doc="both players', then public ones"
            ),
            Array("moves", "uint8", moves, per="env", bounds=(0, rules.choices), doc="choice plus one, 0 for none yet"),
            Array("round", "int32", per="env", bounds=(0, rules.rounds - 1), doc="number of the round"),
            Array("num_moves", "int32", per="env", bounds=(0, rules.moves), doc="moves of the round"),
            Array("num_raises", "int32", per="env", bounds=(0, rules.raises), doc="raises of the round"),
            Array("to_move", "int32", per="env", bounds=(0, 1), doc="0 the first player moves next, 1 the second"),
            Array("chips", "int32", bounds=(1, most), doc="that a player has put into the pot"),
        ]

    def measure(self, probabilities: Mapping[str, Probabilities]) -> Mapping[str, float]:
        """exploitability: see ``GameTree.exploitability``; first_gain: the mean gain of the first player."""
        tree = game_tree(self.rules)
        found = [probabilities[name](tree.observations[k], tree.masks[k]) for k, name in enumerate(NAMES)]
        return {"exploitability": tree.exploitability(found), "first_gain": tree.value(found)}

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The first player's card below, the second's above, public cards between them, chips and moves beside."""
        return self._drawn(arrays, PLAYERS)

    def draw_for(self, arrays: Mapping[str, np.ndarray], agent: int) -> Drawing:
        """Draw the table without the other player's card, until the hand is over."""
        return self._drawn(arrays, PLAYERS if arrays["terminated"] else 1 - agent)

    def _drawn(self, arrays: Mapping[str, np.ndarray], hidden: int) -> Drawing:
        """The table, without the card of the player ``hidden``."""
        marks: list[Mark] = [Rectangles(-2.2, -2.0, 5.4, 4.0, fill="ground", outline="grid", line_width=0.04)]
        for player, name in enumerate(NAMES):
            y = -1.2 if player == 0 else 1.2
            card = int(arrays["cards"][player])
            marks += self._card(-1.6, y, "?" if player == hidden else self._face(card), name)
            chips = np.arange(int(arrays["chips"][player]))
            marks.append(Discs(-0.7 + 0.28 * chips, y + 0.25, 0.12, fill=name))
            marks.append(Text(-0.8, y - 0.3, self._moves_of(arrays["moves"], player), 0.35, align="left"))
        for k in range(1, int(arrays["round"]) + 1):
            marks += self._card(-1.6, 0.0, self._face(int(arrays["cards"][PLAYERS + k - 1])), "ink")
        return Drawing((-2.4, -2.2, 3.4, 2.2), marks, seconds=0.8)

    def _face(self, card: int) -> str:
        return self.faces[card // self.rules.suits]

    def _card(self, x: float, y: float, face: str, colour: str) -> list[Mark]:
        box = Rectangles(x - 0.28, y - 0.38, 0.56, 0.76, fill="ground", outline=colour, line_width=0.06)
        return [box, Text(x, y, face, 0.5, fill=colour)]

    def _moves_of(self, moves: np.ndarray, player: int) -> str:
        """The names of a player's choices, round by round."""
        made = [[self.choice_names[choice - 1] for choice in of_round[player::2] if choice] for of_round in moves]
        return " | ".join(" ".join(names) for names in made if names)


@cache
def game_tree(rules: Rules) -> GameTree:
    """The whole game, written out once."""
    return GameTree(Position(rules), rules.choices)
