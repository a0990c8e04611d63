"""Games of two players that are small enough to be written out: what their policies are worth, exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from warpworld.errors import DeclarationError

CHANCE, END = -1, -2
NONE = -1  # in place of the number of a position or an information set


class Position(Protocol):
    """A point of a game in which two players, 0 and 1, move by turns, and one's gain is the other's loss.

    Attributes:
        mover: 0 or 1; ``CHANCE``, or ``END`` where the game is over.
        moves: numbers of the moves that there are, with probabilities where chance moves; empty at the end.
        payoff: gain of player 0, at the end.
        observation: all that the mover has seen of the game so far; of the environment's own space.
    """

    @property
    def mover(self) -> int: ...  # noqa: D102

    @property
    def moves(self) -> Mapping[int, float]: ...  # noqa: D102

    @property
    def payoff(self) -> float: ...  # noqa: D102

    @property
    def observation(self) -> np.ndarray: ...  # noqa: D102

    def after(self, move: int) -> Position:
        """The position that a move leads to."""


class GameTree:
    """All positions of a game, and a player's information sets: what it may have seen when it moves.

    Positions are numbered so that each follows the one that leads to it. All positions of an information set must lie
    equally deep, which they do where observations tell how many moves were made.

    Attributes:
        observations: of each player's information sets, (n, *shape) of the space's dtype.
        masks: of the same, (n, choices) bool, True for choices that are legal.

    Args:
        root: where the game begins.
        choices: of a player's action space.

    Raises:
        DeclarationError: positions with one observation differ in depth, or in what is legal.
    """

    def __init__(self, root: Position, choices: int) -> None:
        self._choices = choices
        self._sets: tuple[dict[bytes, int], dict[bytes, int]] = {}, {}
        self._seen: tuple[list[np.ndarray], list[np.ndarray]] = [], []
        self._legal: tuple[list[np.ndarray], list[np.ndarray]] = [], []
        self._depth_of: tuple[list[int], list[int]] = [], []
        movers, payoffs, sets, depths = list[int](), list[float](), list[int](), list[int]()
        edges = list[tuple[int, int, float]]()  # from which position, by which move, with what probability of chance
        waiting: list[tuple[Position, int, int, int, float]] = [(root, NONE, 0, 0, 1.0)]
        while waiting:
            position, parent, move, depth, chance = waiting.pop()
            number = len(movers)
            movers.append(position.mover)
            payoffs.append(position.payoff if position.mover == END else 0.0)
            sets.append(self._set_of(position, depth) if position.mover >= 0 else NONE)
            depths.append(depth)
            edges.append((parent, move, chance))
            waiting += [
                (position.after(move), number, move, depth + 1, share if position.mover == CHANCE else 1.0)
                for move, share in position.moves.items()
            ]
        self.observations = tuple(np.stack(seen) for seen in self._seen)
        self.masks = tuple(np.stack(legal) for legal in self._legal)
        self._movers, self._payoffs, self._set = np.array(movers), np.array(payoffs, np.float64), np.array(sets)
        parents, moves, self._chance = (np.array(column) for column in zip(*edges, strict=True))
        self._parents, self._moves = parents, moves
        self._levels = [np.flatnonzero(np.array(depths) == depth) for depth in range(max(depths) + 1)]

    def _set_of(self, position: Position, depth: int) -> int:
        """The number of the information set that the mover is in."""
        player, seen = position.mover, np.asarray(position.observation)
        legal = np.zeros(self._choices, bool)
        legal[list(position.moves)] = True
        number = self._sets[player].setdefault(seen.tobytes(), len(self._seen[player]))
        if number == len(self._seen[player]):
            self._seen[player].append(seen)
            self._legal[player].append(legal)
            self._depth_of[player].append(depth)
        known = self._depth_of[player][number]
        if known != depth or not np.array_equal(self._legal[player][number], legal):
            what = f"after {known} moves and after {depth}" if known != depth else "where different moves are legal"
            raise DeclarationError(
                f"game tree: player {player} sees the same {what}; expected observations that tell such positions apart"
            )
        return number

    def value(self, probabilities: Sequence[np.ndarray]) -> float:
        """Mean gain of player 0.

        Args:
            probabilities: of the choices in each player's information sets, two of (n, choices).
        """
        shares = self._shares(probabilities)
        values = self._payoffs.copy()
        for level in self._levels[:0:-1]:
            np.add.at(values, self._parents[level], shares[level] * values[level])
        return float(values[0])

    def best_response(self, player: int, probabilities: np.ndarray) -> float:
        """The most that a player can gain on average against these probabilities of the other, (n, choices)."""
        given = [np.ones(self.masks[k].shape) if k == player else probabilities for k in (0, 1)]
        shares = self._shares(given)
        # how probable chance and the other player make each position, if this one wants to get there
        reached = np.ones(len(shares))
        for level in self._levels[1:]:
            reached[level] = reached[self._parents[level]] * shares[level]
        # values from the end back: a set's best choice is that of all its positions together
        values = self._payoffs * (1 if player == 0 else -1)
        for level in self._levels[:0:-1]:
            above = self._parents[level]
            is_own = self._movers[above] == player
            gained = np.full(self.masks[player].shape, -np.inf)
            sets, moves = self._set[above[is_own]], self._moves[level[is_own]]
            gained[sets, moves] = 0.0
            np.add.at(gained, (sets, moves), (reached * values)[level[is_own]])
            chosen = gained.argmax(1)[np.maximum(self._set[above], 0)] == self._moves[level]
            weights = np.where(is_own, chosen, shares[level])
            np.add.at(values, above, weights * values[level])
        return float(values[0])

    def exploitability(self, probabilities: Sequence[np.ndarray]) -> float:
        """Mean gain of best responses to both players, over the two: 0 in an equilibrium.

        It is NashConv, the sum over players of what a best response gains over their policy (Lanctot et al. 2017, arXiv
        1711.00832), divided by the number of players, as OpenSpiel's ``exploitability`` is: in a game of two whose sum
        is 0, the mean of both best responses' values.

        Args:
            probabilities: of the choices in each player's information sets, two of (n, choices).
        """
        return (self.best_response(0, probabilities[1]) + self.best_response(1, probabilities[0])) / 2

    def _shares(self, probabilities: Sequence[np.ndarray]) -> np.ndarray:
        """The probability of each position, where the one before it is reached; (positions,) float64."""
        shares = self._chance.astype(np.float64)
        movers, sets = self._movers[self._parents], self._set[self._parents]
        for player, given in enumerate(probabilities):
            own = (movers == player) & (self._parents != NONE)
            shares[own] = np.asarray(given, np.float64)[sets[own], self._moves[own]]
        return shares
