"""A run folder as it lies on the disk, whatever its configuration contains."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import Self

from warpworld.errors import RunError, suggest
from warpworld.packaged import packaged_configs
from warpworld.runs.checkpoints import Checkpoints, Which
from warpworld.runs.pretrained import is_pretrained, resolved_run
from warpworld.runs.recorded import Recorded

RUNS = Path("runs")  # where run folders are made unless saving.directory names another folder


def as_folder_name(text: str) -> str:
    """A text with underscores for whatever a folder's name should not contain."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text)


class RunFolder:
    """The files of a run; looking at them imports none of the code that its configuration names.

    Attributes:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Find the folder of an earlier run, or with ``pretrained:NAME`` that of a policy of the package.

        Raises:
            RunError: not a run folder.
        """
        return cls(found_folder(path))

    # ---- where its files are -----------------------------------------------------------------------------------------
    @property
    def is_pretrained(self) -> bool:
        """Whether it comes with the package, so that nothing is written into it."""
        return is_pretrained(self.path)

    @property
    def output_folder(self) -> Path:
        """Folder for pages and pictures of the run: its own, or the working folder for a pretrained policy."""
        return Path() if self.is_pretrained else self.path

    @property
    def config_path(self) -> Path:
        """``config.yaml``: every setting."""
        return self.path / "config.yaml"

    @property
    def metrics_path(self) -> Path:
        """``metrics.jsonl``: one JSON object a line, with what the seed determines."""
        return self.path / "metrics.jsonl"

    @property
    def timing_path(self) -> Path:
        """``timing.jsonl``: one JSON object a line, with what depends on the machine's speed."""
        return self.path / "timing.jsonl"

    @property
    def machine_path(self) -> Path:
        """``machine.json``: what each session ran on."""
        return self.path / "machine.json"

    @property
    def curve_path(self) -> Path:
        """``curve.png``: the learning curve."""
        return self.path / "curve.png"

    @property
    def replay_path(self) -> Path:
        """``replay.html``: episodes that were recorded."""
        return self.path / "replay.html"

    @property
    def recorded(self) -> Recorded:
        """``replays``: what ``saving.record_every`` writes."""
        return Recorded(self.path / "replays")

    @property
    def opponents_folder(self) -> Path:
        """``league``: the weights of opponents, which checkpoints refer to by name and SHA-256."""
        return self.path / "league"

    @property
    def past_folder(self) -> Path:
        """``checkpoints/replay``: what replays remember, which checkpoints refer to by name and checksum."""
        return self.path / "checkpoints" / "replay"

    @property
    def ending_path(self) -> Path:
        """``ended.txt``: why the run ended before its budget was used up; absent if it did not."""
        return self.path / "ended.txt"

    @property
    def best_path(self) -> Path:
        """``checkpoints/best.pt``: each policy's weights with the best evaluation."""
        return self._checkpoints.best

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    @property
    def _checkpoints(self) -> Checkpoints:
        return Checkpoints(self.path / "checkpoints")

    def checkpoint_path(self, iteration: int) -> Path:
        """Path of an iteration's checkpoint."""
        return self._checkpoints.path(iteration)

    def checkpoints(self) -> list[int]:
        """Iterations that have a checkpoint, ascending."""
        return self._checkpoints.iterations()

    def load_checkpoint(self, which: Which = None) -> dict[str, Any]:
        """Read a checkpoint, with its tensors on the CPU.

        Args:
            which: an iteration; None takes the latest, "best" the weights with the best evaluation.

        Raises:
            RunError: there is none, or it is truncated or not a checkpoint.
        """
        return self._checkpoints.load(which)

    def load_newest_readable(self, check: Callable[[dict[str, Any]], None] = lambda state: None) -> dict[str, Any]:
        """Read the newest checkpoint that is whole; damaged ones are passed over with a warning.

        Args:
            check: raises RunError where a file is damaged that a checkpoint refers to.

        Raises:
            RunError: none can be read.
        """
        return self._checkpoints.load_newest_readable(check)


def is_free(path: Path) -> bool:
    """Whether a run folder can be made at a path: nothing is there, or an empty folder."""
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def found_folder(path: str | Path, configs: Iterable[str] = ()) -> Path:
    """The path of a run folder that is there.

    Args:
        path: where it should be, or ``pretrained:NAME``.
        configs: names that would do as well, so that a misspelt one is recognised.

    Raises:
        RunError: there is none; names the nearest.
    """
    path, others = resolved_run(path), list(configs)
    expected = "a run folder or a config" if others else "a run folder"
    if not path.is_dir():
        kind = "is a file" if path.exists() else "does not exist"
        raise RunError(f"'{path}' {kind}, expected {expected}.{_near(path, others)}")
    if not (path / "config.yaml").exists():
        inner = sorted(entry.parent for entry in path.glob("*/config.yaml"))
        hint = f". Did you mean '{inner[-1]}'?" if inner else " such as 'warpworld train' makes"
        raise RunError(f"'{path}' holds no config.yaml, expected {expected}{hint}")
    return path


def _near(path: Path, others: Sequence[str]) -> str:
    """Suggestion of what was meant: a run of that name in ``runs``, a name beside it, or a name of ``others``."""
    if not path.is_absolute() and (RUNS / path / "config.yaml").is_file():
        return f" Did you mean '{RUNS / path}'?"
    if str(path) in packaged_configs():
        return f" '{path}' is a config: warpworld train {path} makes a run of it."
    beside = [entry.name for entry in path.parent.iterdir() if entry != path] if path.parent.is_dir() else []
    return suggest(path.name, [*beside, *others])
