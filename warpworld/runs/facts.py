"""Facts of a run's files; kept in its folder, so that unchanged files are read once.

``.summary.json`` holds the facts beside the sizes and times of the files that they were read from. It is a cache:
removing it costs one more look at the files.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError
from typing_extensions import Self

from warpworld.config import SavedConfig, has_outline, read_saved
from warpworld.files import read_file, reason
from warpworld.runs.folder import RunFolder
from warpworld.runs.metrics import Damage, Unrewarded, find_damage, good_rows, recent_means, whole_lines
from warpworld.version import __version__

# Read from the text: a listing of a thousand runs has no time to parse ten million lines of JSON.
_STEPS = re.compile(rb'"env_steps": ?(\d+)')
_EPISODES = r'"charts/episodes": ?(\d+)'
_RETURN = r'"charts/{}/episodic_return": ?(-?[0-9.eE+-]+|null)'
_FORM = 2  # of what is kept; another one is read anew


@dataclass(frozen=True)
class Returns:
    """Mean return of a policy, per agent and episode.

    Attributes:
        last: over the latest 100 episodes or somewhat more, see ``recent_means``; over all if fewer have ended.
        best: the highest such mean.
    """

    last: float
    best: float


@dataclass(frozen=True)
class Facts:
    """Facts of a run's files.

    Attributes:
        config: its configuration.
        env_steps: of the last line of metrics.
        started: when its first session began, in UTC as ISO 8601 has it; "" if unknown.
        returns: by policy, of those that have logged one.
        problem: what cannot be read of its metrics, in a line; "" if all can.
        note: which policies had no reward but 0, in a line; "" if none.
    """

    config: SavedConfig
    env_steps: int
    started: str
    returns: Mapping[str, Returns]
    problem: str
    note: str = ""

    @classmethod
    def read(cls, run: RunFolder) -> Self:
        """Read the files; raises ConfigError where the configuration cannot be read."""
        config = read_saved(run.config_path)
        lines, problem = _metrics(run.metrics_path)
        return cls(config, _last_steps(lines), _started(run), _returns(lines, config), problem, _note(lines, config))


_FACTS = TypeAdapter(Facts)


def facts_of(run: RunFolder, keep: bool) -> Facts:
    """The facts of a run, from ``.summary.json`` where its files are still those that it was made from.

    Args:
        run: its folder.
        keep: whether to write that file; while the run trains it would not stay right for long.

    Raises:
        ConfigError: the configuration cannot be read.
    """
    stamp = _stamp(run)
    facts = _kept(run, stamp)
    if facts is None:
        facts = Facts.read(run)
        if keep and not facts.problem:
            _keep(run, stamp, facts)
    return facts


# ---- kept ------------------------------------------------------------------------------------------------------------
def _path(run: RunFolder) -> Path:
    return run.path / ".summary.json"


def _stamp(run: RunFolder) -> list[Any]:
    """Form, warpworld's version, and size and time of each file that is read; null where there is none."""
    paths = (run.config_path, run.metrics_path, run.machine_path)
    return [_FORM, __version__, *map(_size_and_time, paths)]


def _size_and_time(path: Path) -> list[int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def _kept(run: RunFolder, stamp: list[Any]) -> Facts | None:
    """The facts that were kept of files with this stamp; None where there are none."""
    path = _path(run)
    if path.is_symlink():  # it may lead out of a folder that a page shows
        return None
    try:
        found = json.loads(read_file(path))
        if found["stamp"] != stamp or not has_outline(found["settings"]):
            return None
        config = SavedConfig(run.config_path, found["settings"])
        return _FACTS.validate_python({**found["facts"], "config": config})
    except (OSError, ValueError, LookupError, TypeError, RecursionError, ValidationError):
        return None


def _keep(run: RunFolder, stamp: list[Any], facts: Facts) -> None:
    """Write the facts, whole or not at all; a folder that cannot be written does without."""
    known = {name: value for name, value in asdict(facts).items() if name != "config"}
    text = json.dumps({"stamp": stamp, "settings": facts.config.settings, "facts": known})
    if json.loads(text)["settings"] != facts.config.settings:  # keys that are no texts
        return
    unfinished = run.path / f".summary.{os.getpid()}.tmp"
    try:
        unfinished.write_text(text)
        os.replace(unfinished, _path(run))
    except OSError:
        unfinished.unlink(missing_ok=True)


# ---- read ------------------------------------------------------------------------------------------------------------
def _started(run: RunFolder) -> str:
    """Time of the first session's start, according to ``machine.json``; empty if it cannot be read."""
    try:
        first = json.loads(read_file(run.machine_path))[0]["started"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""
    return first if isinstance(first, str) else ""


def _metrics(path: Path) -> tuple[bytes, str]:
    """The whole lines of a ``metrics.jsonl``, and what is wrong with it."""
    if not path.exists():
        return b"", ""
    try:
        lines, damage = whole_lines(read_file(path)), Damage(path)
    except OSError as error:
        return b"", f"'{path}' cannot be read: {reason(error)}"
    find_damage(lines, damage)
    return lines, str(damage)


def _last_steps(metrics: bytes) -> int:
    found = _STEPS.match(metrics, max(metrics.rfind(b'"env_steps"'), 0))
    return int(found[1]) if found else 0


def _returns(metrics: bytes, config: SavedConfig) -> dict[str, Returns]:
    found = {}
    for name in config.policy:
        means = recent_means(*_returns_and_episodes(metrics, name))
        means = means[np.isfinite(means)]
        if len(means):
            found[name] = Returns(float(means[-1]), float(means.max()))
    return found


def _note(metrics: bytes, config: SavedConfig) -> str:
    """Names of policies that had no reward but 0. Most runs soon show rewards, and then no further line is parsed."""
    found, begin = Unrewarded(config.policy), 0
    while begin < len(metrics):
        end = metrics.find(b"\n", begin)
        for row in good_rows(metrics[begin : end + 1], Damage(config.path)):
            found.take(row)
        if found.is_settled:
            break
        begin = end + 1
    return found.message


def _returns_and_episodes(metrics: bytes, policy: str) -> tuple[np.ndarray, np.ndarray]:
    """A policy's mean returns, and how many episodes each is of; NaN where lines do not say."""
    pattern = _RETURN.format(re.escape(policy))
    returns, counts = re.findall(pattern.encode(), metrics), re.findall(_EPISODES.encode(), metrics)
    if not len(returns) == len(counts) == metrics.count(b"\n"):  # lines of an older run, of another order, or damaged
        pairs = re.findall(f"(?:{_EPISODES},[^\n]*?)?{pattern}".encode(), metrics)
        counts, returns = [count for count, _ in pairs], [value for _, value in pairs]
    return _numbers(returns), _numbers(counts)


def _numbers(texts: list[bytes]) -> np.ndarray:
    """(texts,) float64; NaN for what is no number: null, or 1.2.3, which damage leaves."""
    try:
        return np.array(list(map(float, texts)), np.float64)
    except ValueError:
        return np.array([_number(text) for text in texts], np.float64)


def _number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
