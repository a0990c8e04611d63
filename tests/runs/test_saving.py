"""Checkpoints while a run trains: which are written, which are kept, and none of lost weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runs.resuming import changed, resumed
from warpworld.cli.main import main
from warpworld.config import RunConfig
from warpworld.errors import TrainingError
from warpworld.runs import Run
from warpworld.runs.checkpoints import Checkpoints
from warpworld.trainers.trainer import Trainer


def test_the_first_checkpoint_is_written_once(
    config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, save = [], Checkpoints.save

    def counted(self: Checkpoints, iteration: int, state: dict[str, Any]) -> Path:
        saved.append(iteration)
        return save(self, iteration, state)

    (tmp_path / "cartpole.yaml").write_text(config.to_yaml())
    monkeypatch.setattr(Checkpoints, "save", counted)
    words = ["trainer.total_env_steps=64", f"saving.directory={tmp_path / 'runs'}"]
    assert main(["train", str(tmp_path / "cartpole.yaml"), *words]) == 0
    assert saved == [0, 1, 2]


@pytest.mark.parametrize("lost", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_lost_at_the_start_make_no_folder(config: RunConfig, tmp_path: Path, lost: float) -> None:
    trainer = Trainer(config)
    next(trainer.policies["agent"].parameters()).data.flatten()[0] = lost  # type: ignore[union-attr]
    with pytest.raises(TrainingError, match="holds numbers that are not finite"):
        trainer.create_run(tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


# --- weights that are lost --------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_not_finite_are_not_saved(run: Run, number: float) -> None:
    """One number among all is enough."""
    trainer = resumed(run)
    policy = trainer.policies["agent"]
    assert policy is not None
    learn = trainer.algorithms["agent"].learn

    def lost(*given: Any) -> dict[str, Any]:
        diagnostics = learn(*given)  # finite: they are from before the step that loses the weights
        list(policy.parameters())[-1].data.flatten()[0] = number
        return diagnostics

    trainer.algorithms["agent"].learn = lost  # type: ignore[method-assign]
    with pytest.raises(TrainingError, match=r"^policy 'agent': \S+ holds numbers that are not finite; the run"):
        trainer.train(run)
    run.close()
    assert run.checkpoints() == [0, 1, 2, 3]
    assert resumed(run).iteration == 3


# --- keeping few ------------------------------------------------------------------------------------------------------


def test_only_the_newest_checkpoints_are_kept(
    config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    config = changed(config, "saving", keep_checkpoints=2)
    run = Run.create(config, tmp_path)
    seen = []
    Trainer(config).train(run, on_iteration=lambda metrics: seen.append(run.checkpoints()))
    run.close()
    assert seen == [[0, 1], [0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5], [0, 5, 6]]

    def fail(*_: object, **__: object) -> None:
        raise OSError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", fail)
        Checkpoints(run.path / "checkpoints").keep(1)
    assert run.checkpoints() == [0, 5, 6]
    assert "cannot be removed: Permission denied" in caplog.text
