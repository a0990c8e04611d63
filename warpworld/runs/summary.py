"""A run in a line: how far it is, whether it still trains, and what its policies earn."""

from __future__ import annotations

import fcntl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from warpworld.config import SavedConfig
from warpworld.errors import ConfigError, RunError
from warpworld.files import readable, reason
from warpworld.runs.facts import Returns, facts_of
from warpworld.runs.folder import RunFolder

State = Literal["training", "finished", "stopped", "unreadable"]


@dataclass(frozen=True, eq=False)
class RunSummary:
    """A run in a line.

    Attributes:
        path: the folder.
        state: "training" while a process holds the folder; "finished" once its budget is used up or evaluations
            ended it; else "stopped"; or "unreadable" where its configuration cannot be read.
        config: its configuration; None where it cannot be read.
        env_steps: done.
        total: env steps of its budget, in whole rollouts; 0 where the configuration cannot be read.
        started: when its first session began, in UTC as ISO 8601 has it; "" if unknown.
        returns: by policy, of those that have logged one.
        problem: what cannot be read, in a line; "" if all can.
        note: which policies had no reward but 0, in a line; "" if none.
    """

    path: Path
    state: State
    config: SavedConfig | None = None
    env_steps: int = 0
    total: int = 0
    started: str = ""
    returns: Mapping[str, Returns] = field(default_factory=dict)
    problem: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        """Name of the folder."""
        return readable(self.path.resolve().name)

    def as_dict(self) -> dict[str, Any]:
        """The run as a JSON document has it: folder, state, env steps, and last and best mean return by policy."""
        return {
            "run": str(self.path),
            "state": self.state,
            "env_steps": self.env_steps,
            "total_env_steps": self.total,
            "returns": {policy: {"last": found.last, "best": found.best} for policy, found in self.returns.items()},
            "problem": self.problem or None,
        }

    @property
    def environment(self) -> str:
        """Name of the environment for people; "" where the configuration cannot be read."""
        return self.config.title if self.config is not None else ""

    @property
    def tags(self) -> list[str]:
        """The words of ``saving.tags``."""
        saving = self.settings.get("saving")
        found = saving.get("tags") if isinstance(saving, dict) else None
        return [tag for tag in found if isinstance(tag, str)] if isinstance(found, list) else []

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of the run; empty if they cannot be read."""
        return self.config.settings if self.config is not None else {}


def run_folders(folder: str | Path) -> list[RunFolder]:
    """The runs in a folder, by name, or the folder itself if it is one; runs that are being made are left out.

    Raises:
        RunError: it is no folder, or cannot be read.
    """
    folder = Path(folder)
    if (folder / "config.yaml").exists():
        return [RunFolder(folder)]
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise RunError(f"'{folder}' cannot be read: {reason(error)}; expected a folder with run folders") from error
    return [RunFolder(entry) for entry in entries if entry.name[0] != "." and (entry / "config.yaml").exists()]


def summarise(run: RunFolder) -> RunSummary:
    """Summarise a run's folder. Damage is reported in ``problem`` and never raises."""
    training = is_training(run)
    try:
        facts = facts_of(run, keep=not (training or run.is_pretrained))
        per_rollout = facts.config.trainer["num_envs"] * _num_steps(facts.config)
    except ConfigError as error:
        return RunSummary(run.path, "unreadable", problem=str(error))
    total = facts.config.trainer["total_env_steps"] // per_rollout * per_rollout
    checkpoints = run.checkpoints()
    env_steps = max(facts.env_steps, checkpoints[-1] * per_rollout if checkpoints else 0)
    is_finished = env_steps >= total or run.ending_path.exists()
    state: State = "training" if training else "finished" if is_finished else "stopped"
    about = facts.started, facts.returns, facts.problem, facts.note
    return RunSummary(run.path, state, facts.config, env_steps, total, *about)


def is_training(run: RunFolder) -> bool:
    """Whether a process holds the run's folder."""
    try:
        with (run.path / ".lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no lock, or a file system without locks
        return False
    return False


def _num_steps(config: SavedConfig) -> int:
    given = config.trainer.get("num_steps")
    if not isinstance(given, int) or given < 1:
        raise ConfigError(f"{config.path}: trainer.num_steps is {given!r}, expected a whole number of at least 1")
    return given
