"""One part of the suite, and what it writes down while it runs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NO_FMAD = {"WARPWORLD_NVCCFLAGS": "--fmad=false"}  # for the bits of the cpu
MARGIN = 8.0  # seconds
PASSED, FAILED, SKIPPED, RUNNING = "passed", "failed", "skipped", "running"
UNFINISHED = "not finished"  # its time was over: neither passed nor failed
PARTIAL = "in part"  # some of what it measures could not be measured


class SkippedError(Exception):
    """The part cannot be done here; the text says why."""


class UnfinishedError(Exception):
    """The time was over before the part was done, and nothing wrong was found; the text says how far it came."""


class PartialError(Exception):
    """Some of what the part measures could not be measured; the text says what, and why."""


class CheckError(Exception):
    """What the part checks does not hold; the text says what was found."""


@dataclass(frozen=True)
class Part:
    """One thing that is checked or measured, in a process of its own.

    Attributes:
        name: for the command line and the results.
        title: what it shows, for people.
        function: ``module:function``, relative to this package with a leading dot; it takes a Context.
        limit: seconds after which the process is ended.
        least: seconds that it needs for anything to come of it; with fewer left it is not begun.
        correctness: whether its failure makes the whole run fail.
        needs_cuda: whether it says something without a GPU.
        environment: variables that its process gets.
    """

    name: str
    title: str
    function: str
    limit: float
    least: float = 20.0
    correctness: bool = False
    needs_cuda: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Context:
    """What a part is told, and where it leaves its figures.

    Figures are written as they come: of a part that crashes or runs out of time, what it had found so far is kept.

    Attributes:
        device: "cuda" or "cpu".
        quick: few envs and steps, which show that the part runs and measure nothing; its kernels are the same.
        limit: seconds that the part has.
        path: file of the figures.
        figures: by name.
    """

    device: str
    quick: bool
    limit: float
    path: Path
    figures: dict[str, Any] = field(default_factory=dict)
    began: float = field(default_factory=time.perf_counter)

    def left(self) -> float:
        """Seconds until a bit before the part's process is ended: time to say what was not done; at least one."""
        return max(1.0, self.limit - MARGIN - (time.perf_counter() - self.began))

    def report(self, **figures: Any) -> None:
        """Write figures down; ``headline`` is the one for the table."""
        self.figures.update(figures)
        draft = self.path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(self.figures))
        draft.replace(self.path)

    def row(self, **figures: Any) -> None:
        """Write down one more row of the part's table."""
        self.report(rows=[*self.figures.get("rows", []), figures])

    def size(self, full: int, quick: int) -> int:
        """One of two sizes."""
        return quick if self.quick else full
