"""Metrics for Weights & Biases."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpworld.errors import RunError
from warpworld.files import read_file, readable, reason, replace_text
from warpworld.runs.loggers.logger import Metrics, cannot_write, numbers


class WeightsAndBiases:
    """A run on Weights & Biases; a resumed one continues under the same id, which a file of the run folder holds.

    Args:
        project: project on the site.
        folder: the run folder.
        settings: the run's configuration, shown beside the curves.

    Raises:
        RunError: the package is not installed.
    """

    def __init__(self, project: str, folder: Path, settings: Mapping[str, Any]) -> None:
        self._wandb = import_wandb()
        self._project, self._folder, self._settings = project, folder, settings
        self._run: Any = None

    def log(self, metrics: Metrics) -> None:
        """Send every finite number; steps that the site has already are ignored there."""
        if self._run is None:
            self._run = self._start()
        self._run.log(dict(numbers(metrics)), step=int(metrics.get("env_steps", 0)))

    def rewind(self, iteration: int, env_steps: int) -> None:
        """Nothing: a resumed run repeats the same numbers, and the site keeps the first of each step."""

    def sync(self) -> None:
        """Nothing: the package keeps its own files."""

    def close(self) -> None:
        """End the session."""
        if self._run is not None:
            self._run.finish()
            self._run = None

    def _start(self) -> Any:
        path = self._folder / "wandb_id"
        try:
            if not path.exists():
                replace_text(path, uuid.uuid4().hex[:12] + "\n")
            identity = read_file(path).decode().strip()
        except OSError as error:
            raise cannot_write(path, error) from error
        try:
            return self._wandb.init(
                project=self._project,
                id=identity,
                name=readable(self._folder.name),
                dir=str(self._folder),
                config=dict(self._settings),
                resume="allow",
            )
        except Exception as error:  # the package's own kinds, which only it knows
            raise RunError(
                f"Weights & Biases cannot be started: {reason(error)}; "
                "log in with `wandb login`, or set WANDB_MODE=offline, or saving.wandb=null"
            ) from error


def import_wandb() -> Any:
    """The wandb package.

    Raises:
        RunError: it is not installed.
    """
    try:
        import wandb
    except ImportError as error:
        raise RunError(
            "saving.wandb needs the package wandb, which is not installed: pip install 'warpworld[wandb]', "
            "or set saving.wandb=null"
        ) from error
    return wandb
