"""Rules of poker with one card each, written out as positions: what exploitability is computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from warpworld.environment.game_tree import CHANCE, END

FOLD, CALL, RAISE = range(3)
PLAYERS, ANTE = 2, 1


@dataclass(frozen=True)
class Rules:
    """Size of a game.

    Attributes:
        ranks: of cards.
        suits: cards of each rank.
        rounds: of moves; a public card is shown before each but the first.
        moves: as many as a round can have.
        raises: as many as a round can have.
        bet: which a raise of the first round adds; bets double from round to round.
        choices: of a player.
        move_of: the move that a choice is, given whether the player owes chips.
    """

    ranks: int
    suits: int
    rounds: int
    moves: int
    raises: int
    bet: int
    choices: int
    move_of: Callable[[int, bool], int]

    @property
    def deck(self) -> int:
        """Number of cards."""
        return self.ranks * self.suits

    @property
    def flags(self) -> int:
        """Length of an observation."""
        return self.rounds * (self.deck + self.moves * self.choices)


@dataclass(frozen=True)
class Position:
    """A position, see ``warpworld.environment.game_tree.Position``.

    Attributes:
        rules: of the game.
        cards: that were dealt: the players', then public ones.
        choices: of each round so far.
        chips: that each player has put into the pot.
        player: whose turn it is; END where one folded, or cards are compared.
        raises: of this round.
        folded: who folded, or None.
    """

    rules: Rules
    cards: tuple[int, ...] = ()
    choices: tuple[tuple[int, ...], ...] = ((),)
    chips: tuple[int, int] = (ANTE, ANTE)
    player: int = 0
    raises: int = 0
    folded: int | None = None

    @property
    def mover(self) -> int:
        """Chance deals before each round."""
        if self.player == END:
            return END
        return CHANCE if len(self.cards) < PLAYERS + len(self.choices) - 1 else self.player

    @property
    def moves(self) -> Mapping[int, float]:
        """Cards that are left, or legal choices."""
        if self.mover == END:
            return {}
        if self.mover == CHANCE:
            left = [card for card in range(self.rules.deck) if card not in self.cards]
            return dict.fromkeys(left, 1 / len(left))
        return {choice: 1.0 for choice in range(self.rules.choices) if self._is_legal(choice)}

    def after(self, move: int) -> Position:
        """The position after a card or a choice."""
        if self.mover == CHANCE:
            return replace(self, cards=(*self.cards, move))
        kind, player = self._move_of(move), self.player
        after = replace(self, choices=(*self.choices[:-1], (*self.choices[-1], move)), player=1 - player)
        if kind == FOLD:
            return replace(after, player=END, folded=player)
        owed = max(self.chips)
        if kind == RAISE:
            bet = self.rules.bet << (len(self.choices) - 1)
            return replace(after._with_chips(player, owed + bet), raises=self.raises + 1)
        after = after._with_chips(player, owed)
        if len(after.choices[-1]) < PLAYERS:
            return after
        if len(after.choices) == self.rules.rounds:
            return replace(after, player=END)
        return replace(after, choices=(*after.choices, ()), player=0, raises=0)

    @property
    def payoff(self) -> float:
        """Chips of the loser; none where cards are worth the same."""
        if self.folded is not None:
            return float(self.chips[1] if self.folded == 1 else -self.chips[0])
        first, second = (self._strength(player) for player in range(PLAYERS))
        return float(np.sign(first - second) * self.chips[0])

    @property
    def observation(self) -> np.ndarray:
        """(flags,) bool: the mover's card, public cards, and each choice of each round."""
        rules = self.rules
        seen = np.zeros(rules.rounds * rules.deck, bool)
        shown = (self.cards[self.player], *self.cards[PLAYERS:])
        seen[[rules.deck * k + card for k, card in enumerate(shown)]] = True
        made = np.zeros((rules.rounds, rules.moves, rules.choices), bool)
        for number, choices in enumerate(self.choices):
            made[number, np.arange(len(choices)), list(choices)] = True
        return np.concatenate((seen, made.ravel()))

    def _owes(self) -> bool:
        return self.chips[self.player] < self.chips[1 - self.player]

    def _move_of(self, choice: int) -> int:
        return self.rules.move_of(choice, self._owes())

    def _is_legal(self, choice: int) -> bool:
        kind = self._move_of(choice)
        if kind == FOLD:
            return self._owes()
        return kind == CALL or self.raises < self.rules.raises

    def _with_chips(self, player: int, chips: int) -> Position:
        return replace(self, chips=(chips, self.chips[1]) if player == 0 else (self.chips[0], chips))

    def _strength(self, player: int) -> int:
        rank = self.cards[player] // self.rules.suits
        is_paired = any(card // self.rules.suits == rank for card in self.cards[PLAYERS:])
        return rank + self.rules.ranks * is_paired
