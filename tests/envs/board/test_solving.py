"""Connect four solved: against brute force, known values, and policies of known quality."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.packaged import packaged
from warpworld.environment import Probabilities, get_environment
from warpworld.envs.board.solving import positions as drawn
from warpworld.envs.board.solving import solver as solving
from warpworld.envs.board.solving.positions import Phase, plies_left, positions, solver
from warpworld.envs.board.solving.solver import NO_MOVE, Solver, dropped, wins
from warpworld.errors import BuildError

Cells = tuple[tuple[int, ...], ...]


@functools.cache
def by_brute_force(cells: Cells) -> int:
    """Score of the player to move, by all lines of play."""
    rows, columns = len(cells), len(cells[0])
    stones = sum(cell != 0 for row in cells for cell in row)
    best = None
    for column in range(columns):
        if cells[0][column]:
            continue
        row = max(k for k in range(rows) if cells[k][column] == 0)
        mover = 1 + stones % 2
        after = [list(line) for line in cells]
        after[row][column] = mover
        won = any(
            all(0 <= row + (k - s) * d < rows and 0 <= column + (k - s) * r < columns
                and after[row + (k - s) * d][column + (k - s) * r] == mover for k in range(4))
            for d, r in ((0, 1), (1, 0), (1, 1), (1, -1)) for s in range(4)
        )  # fmt: skip
        score = (rows * columns + 1 - stones) // 2 if won else -by_brute_force(tuple(map(tuple, after)))
        best = score if best is None or score > best else best
    return 0 if best is None else best


def random_positions(rows: int, columns: int, stones: int, games: int, seed: int) -> np.ndarray:
    """Positions of random games that no player has won yet: (n, rows, columns) uint8."""
    generator, cells = np.random.default_rng(seed), np.zeros((games, rows, columns), np.uint8)
    for _ in range(stones):
        share = np.where(cells[:, 0] == 0, generator.random((len(cells), columns)), -1.0)
        cells = dropped(cells, share.argmax(1))
        cells = cells[~wins(cells)]
    return cells


@pytest.mark.parametrize(
    ("board", "stones"),
    [((4, 4), 9), ((4, 5), 13), ((5, 4), 13), ((3, 6), 11), ((6, 7), 35), ((6, 7), 37), ((6, 8), 41), ((2, 18), 30)],
)
def test_scores_are_those_of_brute_force(board: tuple[int, int], stones: int) -> None:
    """Exact ones, and which are above and below 0; of positions and of their moves."""
    cells = random_positions(*board, stones, games=1000, seed=stones)[:20]
    expected = np.array([by_brute_force(tuple(map(tuple, each.tolist()))) for each in cells])
    assert len(cells) >= 10 and len(set(expected.tolist())) > 1
    solver = Solver(*board)
    np.testing.assert_array_equal(solver.scores(cells, 1), np.sign(expected))
    np.testing.assert_array_equal(solver.scores(cells), expected)
    moves = solver.move_scores(cells)
    np.testing.assert_array_equal(moves.max(1), expected)
    np.testing.assert_array_equal(solver.move_scores(cells, 1), np.where(moves == NO_MOVE, NO_MOVE, np.sign(moves)))
    np.testing.assert_array_equal(moves == NO_MOVE, cells[:, 0] != 0)


def test_mirrored_positions_are_worth_the_same() -> None:
    cells = random_positions(6, 7, 20, games=100, seed=3)[:40]
    scores, mirrored = Solver().move_scores(cells), Solver().move_scores(cells[:, :, ::-1])
    np.testing.assert_array_equal(scores, mirrored[:, ::-1])
    assert len(np.unique(scores)) > 5


@pytest.mark.parametrize(("board", "value"), [((4, 4), 0), ((4, 5), 0), ((5, 4), 0), ((5, 5), 0), ((4, 6), -1)])
def test_whole_games_have_their_known_values(board: tuple[int, int], value: int) -> None:
    """Tromp's table ("John's Connect Four Playground"): draws, but that the second player wins on 4 rows of 6."""
    assert Solver(*board).scores(np.zeros((1, *board), np.uint8), 1).tolist() == [value]


def test_boards_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^board of 7 x 8: expected \(rows \+ 1\) \* columns from 2 to 56$"):
        Solver(7, 8)
    assert Solver(6, 8).board == (6, 8)


def test_lines_win_as_in_the_game() -> None:
    """A random game ends in the kernel when a line of four is there."""
    world, generator, ended = packaged("connect_four", 256, device="cpu"), np.random.default_rng(5), 0
    world.reset()
    for _ in range(30):
        before = world.data.numpy("cells").copy()
        moves = np.where(before[:, 0] == 0, generator.random((256, 7)), -1.0).argmax(1)
        world["actions"].copy_(torch.from_numpy(moves[:, None, None]))
        world.step()
        won = world.data.numpy("rewards").max(1) > 0
        np.testing.assert_array_equal(wins(dropped(before, moves)), won)
        ended += int(won.sum())
    assert ended > 100


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fewer positions of each phase, and openings of more stones, which are found sooner."""
    phases = {
        "opening": (Phase((24, 26), (1, 13), 20),),
        "middle": (Phase((18, 28), (1, 13), 30), Phase((18, 28), (14, 27), 30)),
        "end": (Phase((29, 40), (1, 13), 60),),
    }
    monkeypatch.setattr(drawn, "PHASES", phases)
    monkeypatch.setattr(drawn, "cached", found_anew)
    positions.cache_clear()
    yield
    positions.cache_clear()


def found_anew(key: str, suffix: str, find: Callable[[Path, Path], None], *_: str) -> Path:
    """The file of positions, in a folder that is not kept."""
    folder = Path(tempfile.mkdtemp())
    find(folder, folder / f"found{suffix}")
    return folder / f"found{suffix}"


@pytest.mark.parametrize("phase", ["middle", "end"])
def test_positions_are_of_their_phase(phase: str, few: None) -> None:
    found, kinds = positions(phase), drawn.PHASES[phase]
    assert len(np.unique(found.cells, axis=0)) == len(found.cells) == sum(kind.count for kind in kinds)
    values = np.sign(solver().move_scores(found.cells)).clip(-1)
    np.testing.assert_array_equal(found.values, np.where(found.cells[:, 0] == 0, values, -1).max(1))
    np.testing.assert_array_equal(found.keeps, (values == found.values[:, None]) & (found.cells[:, 0] == 0))
    assert set(found.values.tolist()) == {-1, 0, 1}
    assert not wins(found.cells).any() and not wins(3 - np.where(found.cells == 0, 3, found.cells)).any()
    stones = np.count_nonzero(found.cells, axis=(1, 2))
    assert min(kind.stones[0] for kind in kinds) <= stones.min() and stones.max() <= max(k.stones[1] for k in kinds)
    assert {0, 1} == set((stones % 2).tolist())


def test_plies_that_are_left_are_those_of_best_play(few: None) -> None:
    """Both players make moves of the highest score until the game is over."""
    for cells in positions("middle").cells[::6]:
        plies, board = plies_left(cells), cells[None]
        for _ in range(plies):
            assert not wins(board)[0]
            board = dropped(board, solver().move_scores(board).argmax(1))
        assert wins(board)[0] or board.all()


def player(choose: Callable[[np.ndarray], np.ndarray]) -> Probabilities:
    """A policy that sees what agents see, and chooses equally among these moves, (n, rows, columns) -> (n, columns)."""

    def probabilities(seen: np.ndarray, masks: np.ndarray) -> np.ndarray:
        second = seen.sum((1, 2, 3))[:, None, None] % 2
        cells = np.where(seen[:, 0], 1 + second, np.where(seen[:, 1], 2 - second, 0)).astype(np.uint8)
        chosen = choose(cells) & masks
        return chosen / chosen.sum(1, keepdims=True)

    return probabilities


def best(cells: np.ndarray) -> np.ndarray:
    scores = solver().move_scores(cells)
    return scores == scores.max(1, keepdims=True)


def worst(cells: np.ndarray) -> np.ndarray:
    scores = np.where(cells[:, 0] == 0, solver().move_scores(cells), 99)
    return scores == scores.min(1, keepdims=True)


def test_policies_are_judged_by_perfect_play(few: None) -> None:
    """The best moves keep all; the worst keep what all moves keep, and random ones the share of moves that do."""
    environment = get_environment("connect_four")()
    perfect, poor, random = player(best), player(worst), player(lambda cells: cells[:, 0] == 0)
    kept = [f"kept_{phase}" for phase in drawn.PHASES]
    found = environment.measure({"first": perfect, "second": perfect})
    assert found == {**dict.fromkeys(kept, 1.0), "first_won": 1.0, "first_lost": 0.0}
    mixed = environment.measure({"first": poor, "second": random})
    for phase in drawn.PHASES:
        of_phase = positions(phase)
        legal, is_first = of_phase.cells[:, 0] == 0, np.count_nonzero(of_phase.cells, axis=(1, 2)) % 2 == 0
        keeps_all = (of_phase.keeps == legal).all(1)
        shares = np.where(is_first, keeps_all, (of_phase.keeps & legal).sum(1) / legal.sum(1))
        assert mixed[f"kept_{phase}"] == pytest.approx(shares.mean(), abs=1e-12)
    assert mixed["first_lost"] > 0.8


def test_without_a_compiler_nothing_is_judged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise BuildError("no compiler here")

    monkeypatch.setattr(solving, "NativeLibrary", fails)
    solving._library.cache_clear()
    monkeypatch.setattr(drawn, "solver", lambda: Solver())
    monkeypatch.setattr(drawn, "cached", lambda *_: drawn.solver())
    positions.cache_clear()
    random = player(lambda cells: cells[:, 0] == 0)
    assert get_environment("connect_four")().measure({"first": random, "second": random}) == {}
    assert caplog.messages == ["connect_four: policies are not judged by perfect play: no compiler here"]
    solving._library.cache_clear()
    positions.cache_clear()
