"""What is kept of a training so that others can watch it: its configuration and its policies' weights."""

from __future__ import annotations

from pathlib import Path

from warpworld.errors import RunError
from warpworld.runs.checkpoints import Checkpoints
from warpworld.trainers.trainer import Trainer


def keep(trainer: Trainer, folder: Path) -> None:
    """Write a run folder that is as small as can be played: ``config.yaml`` and ``checkpoints/best.pt``.

    ``warpworld watch FOLDER --checkpoint best`` plays it. It cannot be resumed.

    Raises:
        RunError: it cannot be written.
    """
    state = trainer.state_dict()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "checkpoints").mkdir(exist_ok=True)
        (folder / "config.yaml").write_text(trainer.config.to_yaml(), encoding="utf-8")
    except OSError as error:
        raise RunError(f"'{folder}' cannot be written: {error.strerror}") from error
    Checkpoints(folder / "checkpoints").save_best({name: state[name] for name in ("config", "policies", "layout")})
