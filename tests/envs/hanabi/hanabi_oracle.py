"""Hanabi written out in Python from its rules: cards as pairs, what is known of them as sets, flags as lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Card = tuple[int, int]  # colour and rank


@dataclass
class Held:
    """A card in a hand, with the colours and ranks that hints leave open, and what they revealed."""

    card: Card
    colours: set[int]
    ranks: set[int]
    shown: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))


class Table:
    """A game.

    Args:
        params: of the environment.
        deck: kinds of cards in the order of the deal.
    """

    def __init__(self, params: Any, deck: Sequence[int]) -> None:
        self.params, self.players = params, params.players
        self.deck = [divmod(int(kind), params.ranks) for kind in deck]
        self.hands: list[list[Held]] = [[self._top() for _ in range(params.hand)] for _ in range(self.players)]
        self.fireworks = [0] * params.colors
        self.discards: list[Card] = []
        self.information, self.lives = params.max_information_tokens, params.max_life_tokens
        self.to_move, self.turns_left = 0, self.players
        self.last: tuple[Any, ...] | None = None  # a move: player, kind, its details
        self.choices: list[tuple[Any, ...]] = [("discard", place) for place in range(params.hand)]
        self.choices += [("play", place) for place in range(params.hand)]
        self.choices += [("colour", k, c) for k in range(1, self.players) for c in range(params.colors)]
        self.choices += [("rank", k, r) for k in range(1, self.players) for r in range(params.ranks)]

    def _top(self) -> Held:
        return Held(self.deck.pop(0), set(range(self.params.colors)), set(range(self.params.ranks)))

    @property
    def score(self) -> int:
        return sum(self.fireworks) if self.lives > 0 else 0

    @property
    def is_over(self) -> bool:
        return self.lives == 0 or self.turns_left == 0 or sum(self.fireworks) == self.params.colors * self.params.ranks

    def legal(self) -> list[int]:
        """The choices of the player who moves."""
        return [number for number, choice in enumerate(self.choices) if self._is_legal(*choice)]

    def _is_legal(self, what: str, first: int, value: int = 0) -> bool:
        if what in ("discard", "play"):
            is_allowed = what == "play" or self.information < self.params.max_information_tokens
            return is_allowed and first < len(self.hands[self.to_move])
        other = self.hands[(self.to_move + first) % self.players]
        return self.information > 0 and any(held.card[what == "rank"] == value for held in other)

    def step(self, number: int) -> int:
        """Make a legal choice, and return the reward."""
        before, mover = self.score, self.to_move
        what, first, *value = self.choices[number]
        self.turns_left -= not self.deck
        if what in ("discard", "play"):
            self.last = (mover, what, first, *self._put_down(what, self.hands[mover].pop(first).card))
            if self.deck:
                self.hands[mover].append(self._top())
        else:
            target = (mover + first) % self.players
            self.last = (mover, what, target, value[0], self._reveal(self.hands[target], what == "rank", value[0]))
        self.to_move = (mover + 1) % self.players
        return self.score - before

    def _put_down(self, what: str, card: Card) -> tuple[Card, bool, bool]:
        """The card, whether it scored, and whether a play gained a token."""
        colour, rank = card
        if what == "discard":
            self.information += 1
            self.discards.append(card)
            return card, False, False
        if self.fireworks[colour] != rank:
            self.lives -= 1
            self.discards.append(card)
            return card, False, False
        self.fireworks[colour] += 1
        is_gain = rank == self.params.ranks - 1 and self.information < self.params.max_information_tokens
        self.information += is_gain
        return card, True, is_gain

    def _reveal(self, hand: list[Held], is_rank: bool, value: int) -> list[bool]:
        self.information -= 1
        for held in hand:
            open_values = held.ranks if is_rank else held.colours
            if held.card[is_rank] == value:
                open_values.intersection_update({value})
                held.shown[is_rank][:] = [value]
            else:
                open_values.discard(value)
        return [held.card[is_rank] == value for held in hand]

    def seen_by(self, player: int) -> np.ndarray:
        """The flags that a player sees, as bools."""
        around = [(player + offset) % self.players for offset in range(self.players)]
        parts = [self._hands(around), self._board(), self._last_move(player)]
        parts += [self._knowledge(self.hands[other]) for other in around]
        return np.concatenate(parts).astype(bool)

    def _kind(self, card: Card) -> int:
        return card[0] * self.params.ranks + card[1]

    def _hands(self, around: list[int]) -> list[int]:
        p = self.params
        kinds = p.colors * p.ranks
        flags: list[int] = []
        for other in around[1:]:
            for held in self.hands[other]:
                flags += one_hot(kinds, self._kind(held.card))
            flags += [0] * (kinds * (p.hand - len(self.hands[other])))
        return flags + [int(len(self.hands[other]) < p.hand) for other in around]

    def _board(self) -> list[int]:
        p = self.params
        flags = filled(p.deck - self.players * p.hand, len(self.deck))
        for reached in self.fireworks:
            flags += one_hot(p.ranks, reached - 1 if reached else None)
        flags += filled(p.max_information_tokens, self.information) + filled(p.max_life_tokens, self.lives)
        for colour in range(p.colors):
            for rank in range(p.ranks):
                flags += filled(p.copies[rank], self.discards.count((colour, rank)))
        return flags

    def _last_move(self, player: int) -> list[int]:
        p = self.params
        kinds = p.colors * p.ranks
        if self.last is None:
            return [0] * (2 * self.players + 4 + p.colors + p.ranks + 2 * p.hand + kinds + 2)
        mover, what, first, *details = self.last
        flags = one_hot(self.players, (mover - player) % self.players)
        flags += one_hot(4, ["play", "discard", "colour", "rank"].index(what))
        if what in ("play", "discard"):
            card, is_score, is_gain = details
            flags += [0] * (self.players + p.colors + p.ranks + p.hand) + one_hot(p.hand, first)
            return [*flags, *one_hot(kinds, self._kind(card)), int(is_score), int(is_gain)]
        value, touched = details
        flags += one_hot(self.players, (first - player) % self.players)
        flags += one_hot(p.colors, value if what == "colour" else None)
        flags += one_hot(p.ranks, value if what == "rank" else None)
        return [*flags, *touched, *[0] * (p.hand - len(touched)), *[0] * (p.hand + kinds + 2)]

    def _knowledge(self, hand: list[Held]) -> list[int]:
        p = self.params
        flags: list[int] = []
        for held in hand:
            flags += [int(c in held.colours and r in held.ranks) for c in range(p.colors) for r in range(p.ranks)]
            flags += [int(c in held.shown[0]) for c in range(p.colors)]
            flags += [int(r in held.shown[1]) for r in range(p.ranks)]
        return flags + [0] * ((p.hand - len(hand)) * (p.colors * p.ranks + p.colors + p.ranks))


def one_hot(length: int, place: int | None) -> list[int]:
    return [int(k == place) for k in range(length)]


def filled(length: int, count: int) -> list[int]:
    return [int(k < count) for k in range(length)]
