"""Runs that learn from replays: resumed bit for bit, and what becomes of damaged files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cases import often
from tests.runs.processes import differences, last_state
from tests.runs.remembering import ITERATIONS, files, gone_on, remembering, trained_to
from tests.runs.resuming import changed, resumed
from tests.runs.test_run_faults import disk, fails, one_more
from warpworld.cli.main import main
from warpworld.config import config_from_dict
from warpworld.errors import RunError
from warpworld.runs import Run
from warpworld.runs.checkpoints import Checkpoints
from warpworld.trainers.evaluate import load_policies
from warpworld.trainers.trainer import Trainer


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that nothing interrupted."""
    return trained_to(remembering(), tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def halved(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Five iterations of it."""
    return trained_to(remembering(), tmp_path_factory.mktemp("half"), 5)


@pytest.fixture
def half(halved: Run, tmp_path: Path) -> Run:
    """A copy of that."""
    return Run.open(shutil.copytree(halved.path, tmp_path / "half"))


def same_end(run: Run, whole: Run) -> bool:
    assert differences(last_state(whole.path), last_state(run.path)) == []
    assert files(run) == files(whole)
    return run.metrics_path.read_bytes() == whole.metrics_path.read_bytes()


# ---- bit for bit -----------------------------------------------------------------------------------------------------
@pytest.mark.long
def test_resumed_halfway(half: Run, whole: Run) -> None:
    gone_on(half)
    assert same_end(half, whole)


@pytest.mark.slow
def test_resumed_after_each_iteration(tmp_path: Path, whole: Run) -> None:
    run = trained_to(remembering(), tmp_path, 1)
    for iteration in range(1, ITERATIONS):
        trainer = resumed(run)
        assert trainer.iteration == iteration
        trainer.train(run, stop=lambda trainer=trainer, until=iteration + 1: trainer.iteration == until)  # type: ignore[misc]
        run.close()
    assert same_end(run, whole)


def test_only_what_the_newest_two_checkpoints_need_is_kept(whole: Run) -> None:
    assert files(whole) == [
        # 240 transitions of two taggers are 30 rows, 90 of a runner 23: of 48 rows the first 18 are gone, and the
        # checkpoint before the last needs rows 12 to 41
        *(f"rows_{first:06d}-{first + 1:06d}.npz" for first in range(2, 8)),
        "whole_000007.npz",
        "whole_000008.npz",
    ]


def test_of_few_checkpoints_the_last_alone_may_be_left(tmp_path: Path) -> None:
    run = trained_to(remembering({"keep_checkpoints": 1}), tmp_path)
    assert run.checkpoints() == [0, 8]
    assert [name for name in files(run) if name.startswith("whole")] == ["whole_000008.npz"]


def test_what_a_killed_process_left_is_removed(half: Run, whole: Run) -> None:
    for name in ("rows_000005-000006.npz", "whole_000001.npz", ".whole_000006.npz.5.tmp"):
        (half.past_folder / name).write_bytes(b"left")
    before = [
        name
        for name in files(half)
        if name.startswith(("rows", "whole")) and (half.past_folder / name).stat().st_size > 4
    ]
    resumed(half)
    assert files(half) == before


def test_policies_play_without_what_replays_remember(half: Run) -> None:
    shutil.rmtree(half.past_folder)
    assert load_policies(half).keys() == {"tagger", "runner"}
    data = half.config.to_dict()
    data["policy"]["tagger"]["initial_weights"] = str(half.path)
    weights = Trainer(config_from_dict(data)).policies["tagger"].state_dict()  # type: ignore[union-attr]
    assert differences(weights, half.load_checkpoint()["policies"]["tagger"]) == []


# ---- damage ----------------------------------------------------------------------------------------------------------
def missing(path: Path) -> None:
    path.unlink()


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def another_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("name", "damage", "expected"),
    [
        ("rows_000004-000005.npz", missing, "No such file or directory"),
        ("rows_000002-000003.npz", truncated, "it has {less:,} bytes, expected {size:,}"),
        ("rows_000004-000005.npz", another_byte, "its checksum is wrong"),
        ("whole_000005.npz", a_folder, "it is a folder, expected a file"),
        ("whole_000005.npz", another_byte, "its checksum is wrong"),
    ],
)
def test_a_damaged_file_leads_to_the_older_checkpoint(
    half: Run, whole: Run, caplog: pytest.LogCaptureFixture, name: str, damage: Callable[[Path], None], expected: str
) -> None:
    path = half.past_folder / name
    size = path.stat().st_size
    damage(path)
    if damage is truncated:  # the older checkpoint needs it too
        with pytest.raises(
            RunError, match=rf"^no replay of run .* can be read; the last: replay '{path}' cannot be read"
        ):
            resumed(half)
    else:
        trainer = resumed(half)
        assert trainer.iteration == 4
        assert half.checkpoints() == [0, 1, 2, 3, 4]
        if damage is another_byte:
            trainer.train(half)
            half.close()
            assert same_end(half, whole)
    reason = expected.format(less=size - 1, size=size)
    assert caplog.messages[0] == f"replay '{path}' cannot be read: {reason}; taking an older one"


def damage_both(run: Run) -> None:
    for name in ("whole_000004.npz", "whole_000005.npz"):
        truncated(run.past_folder / name)


def test_no_replay_that_can_be_read(half: Run) -> None:
    damage_both(half)
    before = files(half), half.checkpoints(), half.metrics_path.read_bytes()
    with pytest.raises(RunError) as caught:
        resumed(half)
    path = half.past_folder / "whole_000004.npz"
    size = path.stat().st_size
    assert str(caught.value) == (
        f"no replay of run '{half.path}' can be read; the last: replay '{path}' cannot be read: it has {size:,} bytes, "
        f"expected {size + 1:,}; with saving.replay=none it continues from iteration 5 with an empty one"
    )
    assert (files(half), half.checkpoints(), half.metrics_path.read_bytes()) == before


@pytest.mark.long
def test_going_on_with_an_empty_replay(half: Run, capsys: pytest.CaptureFixture[str]) -> None:
    damage_both(half)
    assert main(["train", "--resume", str(half.path), "saving.replay=none"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"continuing {half.path} from 120 of 192 env steps\n")
    assert "whole_000005.npz' cannot be read: it has" in err
    assert (
        "the run continues without the contents of its replay, so not bit for bit as it would have; policy 'tagger': "
        "it learns again after 60 more transitions; policy 'runner': it learns again after 60 more transitions\n"
    ) in err
    assert files(half) == []


def test_another_size_of_the_replay(half: Run) -> None:
    config = half.config.to_dict()
    config["policy"]["runner"]["replay_size"] = 95
    with pytest.raises(RunError) as caught:
        resumed(half, config_from_dict(config))
    assert str(caught.value) == (
        f"run '{half.path}' cannot be resumed: policy.runner.replay_size was 90 when it was saved and is 95 in "
        "config.yaml; put it back, or start a new run with the new value"
    )


@pytest.mark.long
def test_a_full_disk(half: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = resumed(half)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("warpworld.runs.array_files._Sealing.write", full)
        with pytest.raises(RunError) as caught:
            trainer.train(half)
    half.close()
    path = half.past_folder / "rows_000005-000006.npz"
    assert str(caught.value) == (
        f"replay '{path}' cannot be written: No space left on device; the checkpoint of iteration 5 is kept"
    )
    assert half.checkpoints()[-1] == 5
    assert gone_on(half).iteration == ITERATIONS


@pytest.mark.slow
@pytest.mark.parametrize("lasting", often([True], [True, False]))
@pytest.mark.parametrize("every", often([61], [61, 24]))
def test_whatever_operation_fails_nothing_is_lost(
    half: Run, whole: Run, tmp_path: Path, lasting: bool, every: int
) -> None:
    before = shutil.copytree(half.path, tmp_path / "before")
    with disk() as counted:
        one_more(half)
    failures, numbers = 0, range(1 + lasting, counted.count + 1, every)
    for number in numbers:
        run = Run.open(shutil.copytree(before, tmp_path / str(number)))
        failures += fails(run, number, lasting)
        assert list(run.path.rglob("*.tmp")) == []
        gone_on(run)
        assert same_end(run, whole)
    assert failures >= len(numbers) - 1


# ---- without ---------------------------------------------------------------------------------------------------------
@pytest.mark.long
def test_replays_that_are_not_saved(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = trained_to(remembering({"replay": "none"}), tmp_path, 5)
    assert not run.past_folder.exists()
    assert "replay" not in run.load_checkpoint()
    trainer = resumed(run)
    assert caplog.messages == [
        "the run continues without the contents of its replay, so not bit for bit as it would have; policy 'tagger': "
        "it learns again after 60 more transitions; policy 'runner': it learns again after 60 more transitions"
    ]
    updates = []

    def count(_: Any) -> None:
        updates.append([trainer.algorithms[name].state_dict()["num_updates"] for name in ("tagger", "runner")])

    trainer.train(run, on_iteration=count)
    run.close()
    assert updates == [[8, 6], [10, 6], [12, 8]]  # an iteration has 48 and 24 transitions


@pytest.mark.long
def test_replays_that_are_saved_from_now_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = trained_to(remembering({"replay": "none"}), tmp_path, 5)
    config = changed(run.config, "saving", replay="newest")
    trainer = resumed(run, config)
    trainer.train(run, stop=lambda: trainer.iteration == 7)
    caplog.clear()
    again = resumed(run, config)
    assert caplog.messages == []
    for name in again.world.data.names("history"):
        assert torch.equal(again.world[name], trainer.world[name]) or "ring" in name or "finals" in name
    ends = []
    for each in (trainer, again):
        each.train(None)
        ends.append(each.state_dict())
    assert differences(*({**end, "seconds": 0, "config": ""} for end in ends)) == []


def test_a_state_from_python_without_files(caplog: pytest.LogCaptureFixture) -> None:
    config = remembering()
    trainer = Trainer(config)
    trainer.train(None, stop=lambda: trainer.iteration == 3)
    other = Trainer(config)
    other.load_state_dict(trainer.state_dict())
    assert "the run continues without the contents of its replay" in caplog.text
    assert int(other.world["replay_written_tagger"]) == 0
    assert float(other.world["replay_leaves_tagger"].sum()) == 0


@pytest.mark.long
def test_killed_between_a_checkpoint_and_the_removal_of_what_it_does_without(
    half: Run, whole: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = resumed(half)
    with monkeypatch.context() as patch:
        patch.setattr(Run, "keep_past", lambda *_: None)
        trainer.train(half, stop=lambda: trainer.iteration == 7)
    half.close()
    assert len(files(half)) > len(files(whole)) - 1
    gone_on(half)
    assert same_end(half, whole)


@pytest.mark.long
def test_killed_before_the_checkpoint_of_new_files(half: Run, whole: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = resumed(half)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Checkpoints, "save", killed)
        trainer.train(half)
    half.close()
    assert "whole_000006.npz" in files(half)
    gone_on(half)
    assert same_end(half, whole)
