"""Positions of connect four with known values: what a policy's moves are judged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from warpworld.envs.board.solving.solver import SOURCE, Solver, dropped, wins
from warpworld.managers import cached, content_key

SEED = 4
GAMES_AT_ONCE = 256
BOARD = 6, 7


@dataclass(frozen=True)
class Phase:
    """Kind of positions.

    Attributes:
        stones: least and most that lie on the board.
        plies: least and most that are left if neither player makes a mistake.
        count: of positions.
    """

    stones: tuple[int, int]
    plies: tuple[int, int]
    count: int


@dataclass(frozen=True)
class Positions:
    """Positions of a phase.

    Attributes:
        cells: (n, rows, columns) uint8, see ``Solver``.
        values: (n,) of the player to move: 1 wins, 0 draws, -1 loses.
        keeps: (n, columns) bool: moves that keep the value.
    """

    cells: np.ndarray
    values: np.ndarray
    keeps: np.ndarray


# Stones and plies that are left as in Pons' sets (blog.gamesolver.org, part 2): end, easy; middle, easy and medium;
# begin, easy and medium. Openings of fewer stones, and the hard ones, are left out: each takes seconds or minutes.
PHASES: Mapping[str, tuple[Phase, ...]] = {
    "opening": (Phase((13, 14), (1, 13), 50), Phase((13, 14), (14, 27), 50)),
    "middle": (Phase((15, 28), (1, 13), 200), Phase((15, 28), (14, 27), 200)),
    "end": (Phase((29, 40), (1, 13), 400),),
}


@cache
def solver() -> Solver:
    """The solver of this process.

    Raises:
        BuildError: the C++ does not compile here.
    """
    return Solver(*BOARD)


@cache
def positions(phase: str) -> Positions:
    """Positions of a phase, always the same: games of random moves that are cut at a random number of stones.

    They are found once per machine, and kept beside compiled kernels.

    Raises:
        BuildError: the C++ does not compile here, or what was found cannot be kept.
    """
    files = [Path(__file__).read_bytes(), SOURCE.read_bytes()]

    def find(scratch: Path, target: Path) -> None:
        generator = np.random.default_rng([SEED, list(PHASES).index(phase)])
        cells = np.concatenate([_drawn(kind, generator) for kind in PHASES[phase]])
        scores = solver().move_scores(cells, 1)
        with target.open("wb") as file:
            np.savez(file, cells=cells, values=scores.max(1), keeps=scores == scores.max(1, keepdims=True))

    subject = f"positions of connect four, {phase}"
    with np.load(cached(content_key([phase, *files]), ".npz", find, subject, "solving")) as kept:
        return Positions(kept["cells"], kept["values"], kept["keeps"])


def _drawn(phase: Phase, generator: np.random.Generator) -> np.ndarray:
    """(count, rows, columns) uint8: different positions of a kind."""
    found: dict[bytes, np.ndarray] = {}
    least, most = phase.plies
    while True:
        for cells in played(generator.integers(phase.stones[0], phase.stones[1] + 1, GAMES_AT_ONCE), generator):
            if least <= plies_left(cells) <= most:
                found[cells.tobytes()] = cells
            if len(found) == phase.count:
                return np.stack(list(found.values()))


def played(stones: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Games of random moves, each after as many stones: (games, rows, columns) uint8; without those that have ended."""
    cells = np.zeros((len(stones), *BOARD), np.uint8)
    is_on = np.ones(len(stones), bool)
    for k in range(stones.max()):
        move = np.flatnonzero(is_on & (stones > k))
        drawn = np.where(cells[move, 0] == 0, generator.random((len(move), BOARD[1])), -1.0)
        cells[move] = dropped(cells[move], drawn.argmax(1))
        is_on[move] = ~wins(cells[move])
    return cells[is_on]


def plies_left(cells: np.ndarray) -> int:
    """Moves until the game ends, if the winner hurries and the loser delays; of a draw, until the board is full."""
    score, stones = int(solver().scores(cells[None])[0]), np.count_nonzero(cells)
    if score == 0:
        return int(cells.size - stones)
    # the stone that wins is one of two: of odd number where it is the first player's
    is_first = (stones % 2 == 0) == (score > 0)
    last = cells.size + 1 - 2 * abs(score)
    return int(last + (last % 2 != is_first) - stones)
