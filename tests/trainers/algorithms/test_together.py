"""Updates that are begun one by one and run together."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from warpworld.trainers.algorithms.updates.together import Together


class Noted:
    """An update that notes what it is asked for."""

    def __init__(self, name: str, notes: list[Any]) -> None:
        self.name, self._notes = name, notes

    def begin_with(self, words: Tensor) -> None:
        self._notes.append((self.name, words.tolist()))

    def begin(self) -> Callable[[], Tensor]:
        self._notes.append(self.name)
        return lambda: torch.zeros(1)

    def make_passes(self, steps: Callable[[], Tensor] | None) -> None:
        assert steps is not None
        self._notes.append(f"passes of {self.name}")

    def end(self, summary: object) -> None:
        assert summary is None
        self._notes.append(f"end of {self.name}")

    def written(self) -> list[Tensor]:
        return [torch.zeros(1)]


def made(count: int, graph_steps: int = 0) -> tuple[Together, list[Noted], list[Any]]:
    """Some updates on the host, and what is noted of them, captures included."""
    notes: list[Any] = []

    def capture(run: Any, tensors: list[Tensor]) -> Any:
        notes.append(f"captured, {len(tensors)} written")
        return run

    world = SimpleNamespace(
        device=torch.device("cpu"),
        capture_update=capture,
        when_sealed=lambda callback: None,
        kernels=lambda *given: SimpleNamespace(build=lambda kernels: None),
    )
    together = Together(SimpleNamespace(world=world, graph_steps=graph_steps))  # type: ignore[arg-type]
    updates = [Noted(f"update {number}", notes) for number in range(count)]
    for update in updates:
        together.add(update)
    return together, updates, notes


def words(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def test_all_run_at_the_end_in_order_each_with_its_inputs() -> None:
    together, (one, other), notes = made(2)
    with together.at_once() as begun:
        assert together.takes(one, words(1, 2)) and together.takes(other, words(3))
        assert not notes and begun is not None and len(begun) == 2
    assert notes == [
        ("update 0", [1, 2]),
        "update 0",
        ("update 1", [3]),
        "update 1",
        "passes of update 0",
        "passes of update 1",
        "end of update 0",
        "end of update 1",
    ]


def test_one_alone_runs_by_itself_and_so_do_all_elsewhere() -> None:
    together, (only,), notes = made(1)
    with together.at_once() as begun:
        assert not together.takes(only, words(1)) and not begun
    together, (one, _), notes = made(2)
    assert not together.takes(one, words(1))
    with together.at_once():
        assert not together.takes(Noted("one that the host reads within", notes), words(1))
    assert not notes


def test_nothing_runs_where_one_could_not_be_begun() -> None:
    together, (one, other), notes = made(2)
    with pytest.raises(ZeroDivisionError), together.at_once():
        assert together.takes(one, words(1))
        raise ZeroDivisionError
    assert not notes
    with together.at_once():
        assert together.takes(one, words(4)) and together.takes(other, words(5))
    assert notes[0] == ("update 0", [4]) and notes[2] == ("update 1", [5])


def test_they_are_captured_once_and_again_when_what_they_write_has_moved() -> None:
    together, (one, other), notes = made(2, graph_steps=4)

    def update(number: int) -> None:
        with together.at_once():
            assert together.takes(one, words(number)) and together.takes(other, words(10 * number))

    update(1)
    update(2)
    together.forget()
    update(3)
    assert [note for note in notes if isinstance(note, str) and note.startswith("captured")] == [
        "captured, 2 written"
    ] * 2
    assert notes[-8:-4] == [("update 0", [3]), "update 0", ("update 1", [30]), "update 1"]
