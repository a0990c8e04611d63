"""A run in a line: how far it is, whether it still trains, and what its policies earn."""

from __future__ import annotations

import fcntl
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from warpworld.config.saved import SavedConfig, read_saved
from warpworld.errors import ConfigError, RunError
from warpworld.files import read_file, readable, reason
from warpworld.runs.folder import RunFolder

State = Literal["training", "finished", "stopped", "unreadable"]

# Read from the text: a listing of a thousand runs has no time to parse ten million lines of JSON.
_STEPS = re.compile(rb'"env_steps": ?(\d+)')
_RETURN = '"charts/{}/episodic_return": ?(-?[0-9.eE+-]+)'


@dataclass(frozen=True)
class Returns:
    """What a policy earned: mean return per agent and episode.

    Attributes:
        last: of the last logged iteration in which an episode ended.
        best: the highest of an iteration.
    """

    last: float
    best: float


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
    """

    path: Path
    state: State
    config: SavedConfig | None = None
    env_steps: int = 0
    total: int = 0
    started: str = ""
    returns: Mapping[str, Returns] = field(default_factory=dict)
    problem: str = ""

    @property
    def name(self) -> str:
        """Of the folder."""
        return readable(self.path.resolve().name)

    @property
    def environment(self) -> str:
        """What people call the environment; "" where the configuration cannot be read."""
        return self.config.title if self.config is not None else ""

    @property
    def tags(self) -> list[str]:
        """The words of ``saving.tags``."""
        saving = self.settings.get("saving")
        found = saving.get("tags") if isinstance(saving, dict) else None
        return [tag for tag in found if isinstance(tag, str)] if isinstance(found, list) else []

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings; none where they cannot be read."""
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
    """Read a run's folder. Damage is reported in ``problem`` and never raises."""
    try:
        config = read_saved(run.config_path)
        per_rollout = config.trainer["num_envs"] * _num_steps(config)
    except ConfigError as error:
        return RunSummary(run.path, "unreadable", problem=str(error))
    total = config.trainer["total_env_steps"] // per_rollout * per_rollout
    metrics, problem = _read(run.metrics_path)
    checkpoints = run.checkpoints()
    env_steps = max(_last_steps(metrics), checkpoints[-1] * per_rollout if checkpoints else 0)
    is_finished = env_steps >= total or run.ending_path.exists()
    state: State = "training" if is_training(run) else "finished" if is_finished else "stopped"
    return RunSummary(run.path, state, config, env_steps, total, _started(run), _returns(metrics, config), problem)


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


def _started(run: RunFolder) -> str:
    """When the first session began, according to ``machine.json``."""
    try:
        first = json.loads(read_file(run.machine_path))[0]["started"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""
    return first if isinstance(first, str) else ""


def _num_steps(config: SavedConfig) -> int:
    given = config.trainer.get("num_steps")
    if not isinstance(given, int) or given < 1:
        raise ConfigError(f"{config.path}: trainer.num_steps is {given!r}, expected a whole number of at least 1")
    return given


def _read(path: Path) -> tuple[bytes, str]:
    """The whole lines of a ``metrics.jsonl``, and what is wrong with it."""
    if not path.exists():
        return b"", ""
    try:
        text = read_file(path)
        return text[: text.rfind(b"\n") + 1], ""
    except OSError as error:
        return b"", f"'{path}' cannot be read: {reason(error)}"


def _last_steps(metrics: bytes) -> int:
    found = _STEPS.match(metrics, max(metrics.rfind(b'"env_steps"'), 0))
    return int(found[1]) if found else 0


def _returns(metrics: bytes, config: SavedConfig) -> dict[str, Returns]:
    found = {}
    for name in config.policy:
        texts = re.findall(_RETURN.format(re.escape(name)).encode(), metrics)
        values = [value for text in texts for value in _finite(text)]
        if values:
            found[name] = Returns(values[-1], max(values))
    return found


def _finite(text: bytes) -> Iterable[float]:
    try:
        value = float(text)
    except ValueError:
        return ()
    return (value,) if math.isfinite(value) else ()
