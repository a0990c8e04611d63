"""The Hanabi Learning Environment's game, dealt from decks of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Original:
    """Games of the package with parameters of ours.

    Args:
        params: of the environment, with three cards of the lowest rank, as the package has them.
    """

    def __init__(self, params: Any) -> None:
        from hanabi_learning_environment import pyhanabi

        names = ("players", "colors", "ranks", "max_information_tokens", "max_life_tokens")
        self._game = pyhanabi.HanabiGame({name: getattr(params, name) for name in names} | {"hand_size": params.hand})
        self._encoder = pyhanabi.ObservationEncoder(self._game)
        self._chance = pyhanabi.CHANCE_PLAYER_ID
        self._players, self._ranks = params.players, params.ranks
        self.num_choices = self._game.max_moves()
        self._deals = self._moves_of_chance(params.colors * params.ranks)

    def _moves_of_chance(self, kinds: int) -> dict[int, Any]:
        """A move that deals each kind of card, from random deals: the package has no other way to make one."""
        found: dict[int, Any] = {}
        while len(found) < kinds:
            state = self._game.new_initial_state()
            while state.cur_player() == self._chance:
                state.deal_random_card()
            moves = [item.move() for item in state.move_history()]
            found |= {move.color() * self._ranks + move.rank(): move for move in moves}
        return found

    def begin(self, deck: Sequence[int]) -> None:
        """Deal from a deck."""
        self._deck = [int(kind) for kind in deck]
        self._state = self._game.new_initial_state()
        self._deal()

    def _deal(self) -> None:
        while self._state.cur_player() == self._chance:
            self._state.apply_move(self._deals[self._deck.pop(0)])

    def step(self, choice: int) -> tuple[int, bool]:
        """Reward and end of a move."""
        before = self._state.score()
        self._state.apply_move(self._game.get_move(choice))
        self._deal()
        return self._state.score() - before, self._state.is_terminal()

    def seen(self) -> np.ndarray:
        """(players, flags) bool."""
        views = [self._state.observation(player) for player in range(self._players)]
        return np.array([self._encoder.encode(view) for view in views], bool)

    def legal(self) -> np.ndarray:
        """(players, choices) bool."""
        mask = np.zeros((self._players, self.num_choices), bool)
        for move in self._state.legal_moves():
            mask[self._state.cur_player(), self._game.get_move_uid(move)] = True
        return mask
