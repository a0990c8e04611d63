"""Metrics for Weights & Biases."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from warpworld.config import RunConfig
from warpworld.errors import RunError
from warpworld.files import read_file, readable, reason, replace_text
from warpworld.runs.loggers.logger import Logger, Metrics, cannot_write, imported, numbers


class WeightsAndBiases(Logger):
    """A run on Weights & Biases; a resumed one continues under the same id, which a file of the run folder holds.

    ``saving.wandb`` is the project. The configuration is shown beside the curves. Nothing is rewound: a resumed run
    repeats the same numbers, and the site keeps the first of each step.
    """

    def __init__(self, folder: Path, config: RunConfig) -> None:
        super().__init__(folder, config)
        self._run: Any = None

    @classmethod
    def check_available(cls, config: RunConfig) -> None:
        """Check that the package is installed. Raises RunError: it is not."""
        imported("wandb")

    def log(self, metrics: Metrics) -> None:
        """Send every finite number; steps that the site has already are ignored there."""
        if self._run is None:
            self._run = self._start()
        self._run.log(dict(numbers(metrics)), step=int(metrics.get("env_steps", 0)))

    def show(self, picture: Path, iteration: int, env_steps: int) -> None:
        """Send the picture as a video called ``replay``."""
        if self._run is None:
            self._run = self._start()
        self._run.log({"replay": imported("wandb").Video(str(picture), format="gif")}, step=env_steps)

    def close(self) -> None:
        """End the session."""
        if self._run is not None:
            self._run.finish()
            self._run = None

    def _start(self) -> Any:
        path = self.folder / "wandb_id"
        try:
            if not path.exists():
                replace_text(path, uuid.uuid4().hex[:12] + "\n")
            identity = read_file(path).decode().strip()
        except OSError as error:
            raise cannot_write(path, error) from error
        try:
            return imported("wandb").init(
                project=self.config.saving.wandb,
                id=identity,
                name=readable(self.folder.name),
                dir=str(self.folder),
                config=self.config.to_dict(),
                resume="allow",
            )
        except Exception as error:  # the package's own kinds, which only it knows
            raise RunError(
                f"Weights & Biases cannot be started: {reason(error)}; "
                "log in with `wandb login`, or set WANDB_MODE=offline, or saving.wandb=null"
            ) from error
