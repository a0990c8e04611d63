"""Results of a table as they are kept: every seed's scores beside the settings that they are of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from warpworld.config import Flag, Section
from warpworld.drawing import write_whole
from warpworld.errors import RunError
from warpworld.files import read_file, reason
from warpworld.runs import Values


class SeedResult(Section):
    """Scores of one training, and its cost."""

    seed: int
    drawn: float  # score of drawn actions
    greedy: float  # score of likeliest actions
    at_random: float  # score of random actions
    references: dict[str, float] = Field(default={})  # score of each script that the table names
    against: dict[str, tuple[float, float]] = Field(default={})  # scores of drawn and likeliest actions, by opponent
    env_steps: int
    cpu_seconds: float  # processor time of the training, all threads and sessions together
    seconds: float  # wall time of the same
    curve: tuple[tuple[float, float], ...]  # (env steps, score of drawn actions while it trained)
    conditions: dict[str, Any]  # where and with what it was judged: date, commit, version, device and more

    def score(self, greedy: bool) -> float:
        """The score that is compared."""
        return self.greedy if greedy else self.drawn


class TaskResult(Section):
    """All trainings of a task, by seed, the words that trained it, and its seeds as partners of each other."""

    words: tuple[str, ...]
    seeds: tuple[SeedResult, ...]
    cross_play: tuple[tuple[float, ...], ...] | None = None  # scores by seed of the first agent, and of the others


class Results(Section):
    """Results of a table, of as many tasks and seeds as there are."""

    table: str
    quick: Flag  # whether it is a trial of the command, and no result
    greedy: Flag  # whether the scores that are compared are of likeliest actions
    overrides: tuple[str, ...]  # of the command, behind those of the table
    tasks: dict[str, TaskResult]

    @property
    def are_of_the_table(self) -> bool:
        """Whether they are results of the table as its file has it."""
        return not self.quick and not self.overrides

    def scores(self, task: str) -> Values:
        """[seeds]: the scores that are compared."""
        return np.array([each.score(self.greedy) for each in self.tasks[task].seeds], np.float64)

    def write(self, path: Path) -> None:
        """Write a file that is whole or not there; raises RunError where it cannot."""
        write_whole(path, json.dumps(self.model_dump(), indent=None) + "\n")


def read_results(path: Path) -> Results:
    """Results that were written.

    Raises:
        RunError: the file cannot be read, or holds something else.
    """
    try:
        return Results.model_validate_json(read_file(path))
    except OSError as error:
        raise RunError(f"results '{path}' cannot be read: {reason(error)}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise RunError(
            f"'{path}' holds no results of `warpworld reproduce`: {place}: {first['msg'].lower()}"
        ) from error


def kept_value(path: Path, about: Mapping[str, Any]) -> Any:
    """The value that ``keep_value`` wrote with the same ``about``; None where there is none that can be read."""
    try:
        found = json.loads(read_file(path))
        return found["value"] if found["about"] == about else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def keep_value(path: Path, about: Mapping[str, Any], value: Any) -> None:
    """Write a value beside what it is of, as JSON; raises RunError where it cannot."""
    write_whole(path, json.dumps({"about": about, "value": value}) + "\n")
