"""Histories in files: what is written is what is read, whatever number of processes wrote and read it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from warpworld.errors import RunError
from warpworld.runs import array_files
from warpworld.trainers.collecting.history import History, Rows
from warpworld.trainers.histories import SavedHistories
from warpworld.trainers.processes.distributed import ProcessGroup

NUM_ENVS, CAPACITY, SLOTS = 5, 7, 3


class Remembered(History):
    """Rows of an env's number and time; now and then a slot is filled."""

    def __init__(self, envs: range) -> None:
        self.envs, self.written, self.was_restored = envs, 0, False
        self.numbers = torch.full((CAPACITY, len(envs), 2), -1, dtype=torch.int64)
        self.frames = torch.zeros(CAPACITY, len(envs), 3, 2, dtype=torch.uint8)
        self.last = torch.full((len(envs), SLOTS, 2), -1.0)
        self.filled = torch.zeros(len(envs), dtype=torch.int32)
        self.leaves = torch.zeros(CAPACITY, len(envs), 2)
        self.of_process = torch.zeros(4, dtype=torch.float64)

    def rows(self) -> list[Rows]:
        arrays = {"numbers": self.numbers, "frames": self.frames}
        return [Rows("ring", arrays, self.written, 1, {"last": self.last}, self.filled)]

    def whole(self) -> Mapping[str, Tensor]:
        return {"leaves": self.leaves}

    def own(self) -> Mapping[str, Tensor]:
        return {"of_process": self.of_process}

    def restored(self) -> None:
        self.was_restored = True

    def empty(self) -> None:
        self.written = 0
        self.filled.zero_()

    def end_episodes(self) -> None:
        self.numbers[(self.written - 1) % CAPACITY, :, 1] *= -1

    def record(self, count: int) -> None:
        for _ in range(count):
            at = self.written % CAPACITY
            for i, env in enumerate(self.envs):
                self.numbers[at, i] = torch.tensor([env, self.written])
                self.frames[at, i] = (env + 10 * self.written) % 256
                self.leaves[at, i] = env + self.written / 64
                if (self.written + env) % (env + 1) == 0:
                    self.last[i, self.filled[i] % SLOTS] = torch.tensor([env, self.written])
                    self.filled[i] += 1
            self.written += 1


class Learner:
    """The part of an algorithm that counts here."""

    def __init__(self, history: History) -> None:
        self._history = history

    def histories(self) -> list[History]:
        return [self._history]

    def forget(self) -> str:
        self._history.empty()
        return "it begins anew"


class Meeting:
    """Where threads that stand for processes show each other a tensor."""

    def __init__(self, size: int) -> None:
        self._barrier, self._shown = threading.Barrier(size, timeout=30), [torch.empty(0)] * size

    def stack(self, rank: int, tensor: Tensor) -> Tensor:
        self._shown[rank] = tensor
        self._barrier.wait()
        found = torch.stack(self._shown)
        self._barrier.wait()
        return found


class Member(ProcessGroup):
    """One of several processes that are threads."""

    meeting: Meeting

    def text_of_first(self, text: str) -> str:
        return text

    def stack(self, tensor: Tensor) -> Tensor:
        return self.meeting.stack(self.rank, tensor)


class Together:
    """All processes of a run."""

    def __init__(self, size: int = 1, keep: bool = True) -> None:
        meeting = Meeting(size)
        groups = [Member(rank, size) for rank in range(size)]
        for group in groups:
            object.__setattr__(group, "meeting", meeting)
        self.members = [Remembered(group.share(NUM_ENVS)) for group in groups]
        self.saved = [
            SavedHistories({"walker": Learner(member)}, group, NUM_ENVS, keep)  # type: ignore[dict-item]
            for member, group in zip(self.members, groups, strict=True)
        ]
        for rank, member in enumerate(self.members):
            member.of_process += rank

    def record(self, count: int) -> None:
        for member in self.members:
            member.record(count)

    def save(self, folder: Path, iteration: int) -> dict[str, Any]:
        """A checkpoint's state; the same from all processes."""
        with ThreadPoolExecutor(len(self.saved)) as pool:
            states = list(pool.map(lambda saved: saved.save(folder, iteration), self.saved))
        assert all(state == states[0] for state in states)
        return {"iteration": iteration, **states[0]}

    def load(self, state: dict[str, Any], folder: Path, other: Together) -> None:
        """Take up what ``other`` saved."""
        for member, saved in zip(self.members, self.saved, strict=True):
            member.written = other.members[0].written
            member.filled.copy_(other.filled[member.envs.start : member.envs.stop])
            saved.load(state, folder)

    @property
    def filled(self) -> Tensor:
        return torch.cat([member.filled for member in self.members])

    @property
    def content(self) -> dict[str, Tensor]:
        by_row = {name: [getattr(each, name) for each in self.members] for name in ("numbers", "frames", "leaves")}
        whole = {name: torch.cat(parts, 1) for name, parts in by_row.items()}
        last = torch.cat([each.last for each in self.members])
        is_there = last[..., 1:] >= self.members[0].written - CAPACITY  # no row refers to others
        return {**whole, "last": torch.where(is_there, last, -1.0)}


def same(one: Together, other: Together) -> bool:
    return all(torch.equal(value, other.content[name]) for name, value in one.content.items())


# ---- what is written is what is read ---------------------------------------------------------------------------------
@pytest.mark.parametrize("piece", [1, 2**23])
@pytest.mark.parametrize("counts", [(3,), (3, 2, 1), (7,), (9,), (3, 3, 3, 3), (1, 20, 2), (5, 5, 5)])
def test_every_checkpoint_holds_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: tuple[int, ...], piece: int
) -> None:
    monkeypatch.setattr(array_files, "PIECE", piece)  # bytes: a row at a time
    run = Together()
    for iteration, count in enumerate(counts, 1):
        run.record(count)
        state = run.save(tmp_path, iteration)
        other = Together()
        other.load(state, tmp_path, run)
        assert same(run, other)
        assert torch.equal(other.members[0].of_process, run.members[0].of_process)
        assert other.members[0].was_restored


@pytest.mark.parametrize("numbers", list(itertools.product([1, 2, 3], repeat=2)))
def test_other_numbers_of_processes(tmp_path: Path, numbers: tuple[int, int]) -> None:
    run = Together(numbers[0])
    for iteration in (1, 2):
        run.record(4)
        state = run.save(tmp_path, iteration)
    other = Together(numbers[1])
    other.load(state, tmp_path, run)
    assert same(run, other)
    firsts = [each.envs.start for each in run.members]
    for member in other.members:  # that of the process that had the first env
        rank = max(rank for rank, first in enumerate(firsts) if first <= member.envs.start)
        assert member.of_process.tolist() == [rank] * 4
    for both in (run, other):  # and on it goes, over files of the one and of the other
        both.record(2)
        last = both.save(tmp_path, 3)
    assert same(run, other)
    third = Together()
    third.load(last, tmp_path, other)
    assert same(run, third)


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    run = Together()
    for iteration in range(1, 5):
        run.record(2)
        run.save(tmp_path, iteration)
    rows = {path.name: np.load(path)["numbers"][:, 0, 1].tolist() for path in sorted(tmp_path.glob("rows_*"))}
    assert rows == {  # the newest row may have changed since, and is written again
        "rows_000000-000001.npz": [0, 1],
        "rows_000001-000002.npz": [1, 2, 3],
        "rows_000002-000003.npz": [3, 4, 5],
        "rows_000003-000004.npz": [5, 6, 7],
    }
    last = np.load(tmp_path / "rows_000003-000004.npz")
    assert last["ring.places"].tolist() == [[0, 0], [0, 1], [1, 0], [2, 2], [4, 1]]
    assert last["last"].tolist() == [[0, 6], [0, 7], [1, 7], [2, 7], [4, 6]]
    assert np.load(tmp_path / "whole_000004.npz")["leaves"].shape == (CAPACITY, NUM_ENVS, 2)


def test_files_without_a_row_of_the_ring_are_needed_no_more(tmp_path: Path) -> None:
    run = Together()
    named = []
    for iteration in range(1, 6):
        run.record(3)
        named.append(len(run.save(tmp_path, iteration)["replay"]["rows"]))
    assert named == [1, 2, 3, 3, 3]
    assert run.saved[0].files([4, 5]) == {
        *(f"rows_{first:06d}-{first + 1:06d}.npz" for first in range(1, 5)),
        "whole_000004.npz",
        "whole_000005.npz",
    }


def test_the_same_rows_make_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        run = Together()
        run.record(5)
        run.save(tmp_path / name, 1)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_new_episodes_change_rows_that_are_saved_already(tmp_path: Path) -> None:
    run = Together()
    run.record(5)
    state = run.save(tmp_path, 1)
    other = Together()
    other.load(state, tmp_path, run)
    other.saved[0].end_episodes()
    other.record(1)
    third = Together()
    third.load(other.save(tmp_path, 2), tmp_path, other)
    assert third.members[0].numbers[4, :, 1].tolist() == [-4] * NUM_ENVS
    assert same(other, third)


def test_a_run_without_histories_has_no_files(tmp_path: Path) -> None:
    saved = SavedHistories({}, ProcessGroup(), NUM_ENVS, True)
    assert saved.save(tmp_path / "replay", 1) == {}
    assert saved.files([1]) is None
    assert not (tmp_path / "replay").exists()


def test_another_run_of_the_same_trainer_has_files_of_its_own(tmp_path: Path) -> None:
    run = Together()
    for iteration, name in enumerate("aab", 1):
        run.record(2)
        state = run.save(tmp_path / name, iteration)
    other = Together()
    other.load(state, tmp_path / "b", run)
    assert same(run, other)
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["rows_000000-000003.npz", "whole_000003.npz"]


def test_a_folder_that_another_machine_does_not_see(tmp_path: Path) -> None:
    run = Together(2)
    run.record(1)
    path = tmp_path / "elsewhere" / "replay"
    with pytest.raises(RunError) as caught:
        run.saved[1].save(path, 1)
    assert str(caught.value) == (
        f"replay '{path}/rows_000000-000001_1_of_2.npz' cannot be written: No such file or directory; every process "
        "writes into the run folder: let all see it, or set saving.replay=none"
    )


# ---- damage ----------------------------------------------------------------------------------------------------------
def test_an_entry_that_is_no_list_of_files(tmp_path: Path) -> None:
    run = Together()
    run.record(5)
    state = run.save(tmp_path, 1)
    entry = state["replay"]["rows"][0]
    changed = [{**entry, "file": "../rows_000000-000001.npz"}, {**entry, "envs": "all"}, 5, {**entry, "ends": None}]
    for wrong in [5, {}, {"rows": [], "whole": None}, *({"rows": [each], "whole": []} for each in changed)]:
        with pytest.raises(RunError, match=r"^the saved replay is not a list of files: something other than warpworld"):
            run.saved[0].check({"iteration": 1, "replay": wrong}, tmp_path)


def test_a_file_of_other_sizes(tmp_path: Path) -> None:
    run = Together()
    run.record(5)
    state = run.save(tmp_path, 1)
    other = Together()
    other.members[0].frames = torch.zeros(CAPACITY, NUM_ENVS, 4, dtype=torch.uint8)
    with pytest.raises(RunError) as caught:
        other.load(state, tmp_path, run)
    assert str(caught.value) == (
        f"replay '{tmp_path}/rows_000000-000001.npz' cannot be read: array 'frames' is uint8 (5, 5, 3, 2), "
        "expected uint8 (5, 5, 4)"
    )
