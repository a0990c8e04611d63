"""The same seed is the same run, in whatever process, with however many workers, stopped or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.processes import ITERATIONS, SMALL, differences, finish, last_state, run_folder
from warpworld.runs import Run

PER_ITERATION = 128  # env steps


def trained(folder: Path, *words: str) -> Path:
    assert finish(folder, "train", *SMALL, *words) == 0, (folder / "err").read_text()
    return run_folder(folder)


def same_but_for_the_config(one: Path, other: Path) -> list[str]:
    return [name for name in differences(last_state(one), last_state(other)) if name != ".config"]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("first"))


@pytest.mark.heavy
@pytest.mark.parametrize("words", [(), ("trainer.num_workers=2",), ("trainer.envs_per_warp=3",)])
@pytest.mark.long
def test_another_process_and_what_changes_no_result(tmp_path: Path, first: Path, words: tuple[str, ...]) -> None:
    again = trained(tmp_path, *words)
    assert same_but_for_the_config(first, again) == []
    assert (again / "metrics.jsonl").read_bytes() == (first / "metrics.jsonl").read_bytes()


@pytest.mark.long
def test_another_seed(tmp_path: Path, first: Path) -> None:
    other = trained(tmp_path, "trainer.seed=2")
    assert [name for name in same_but_for_the_config(first, other) if name.startswith(".policies.tagger")]
    assert (other / "metrics.jsonl").read_bytes() != (first / "metrics.jsonl").read_bytes()


@pytest.mark.heavy
@pytest.mark.parametrize("log_every", [1, 3])
@pytest.mark.long
def test_stopped_and_resumed(tmp_path: Path, first: Path, log_every: int) -> None:
    saving = (f"saving.log_every={log_every}", "saving.checkpoint_every=4")
    whole = first if log_every == 1 else trained(tmp_path / "whole", *saving)
    half = trained(tmp_path / "half", *saving, "--stop-at", str(ITERATIONS * PER_ITERATION // 2))
    assert Run.open(half).checkpoints() == [0, 4, 5]
    assert finish(tmp_path / "half", "train", "--resume", str(half)) == 0
    assert Run.open(half).checkpoints() == [0, 4, 5, 8, 10]
    assert same_but_for_the_config(whole, half) == []
    assert (half / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
    assert Run.open(half).timing_path.read_bytes().count(b"\n") == len(range(log_every, 10, log_every)) + 1
