"""One part of the suite, and what it writes down while it runs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from .wrong import read_wrong, write_wrong

NO_FMAD = {"WARPWORLD_NVCCFLAGS": "--fmad=false"}  # for the bits of the cpu
MARGIN, LARGEST_MARGIN = 0.15, 8.0  # of a part's limit; seconds
Item = TypeVar("Item")
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
    """A check of the part does not hold, and ends it; the text says what was found."""


def unreached(names: Sequence[str], count: int) -> UnfinishedError:
    """The error of a part that left these items of ``count`` undone."""
    return UnfinishedError(f"{len(names)} of {count} were not done in time: {', '.join(names)}")


def judged(end: dict[str, str], findings: Sequence[str]) -> dict[str, str]:
    """Status and reason of a part that ended like this: failed if it found anything wrong, with all of it.

    Args:
        end: status and reason, from the part itself or from the process that ended it.
        findings: what was found wrong.
    """
    if not findings:
        return end
    return {"status": FAILED, "reason": "\n".join([*findings, *filter(None, [end["reason"]])])}


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
    least: float = 10.0
    correctness: bool = False
    needs_cuda: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Context:
    """Settings of a part, and the place for its figures and for what it finds wrong.

    Both are written as they come: of a part that crashes or runs out of time, what it had found so far is kept.

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
        """Seconds until shortly before the part's process is ended: time to say what was not done; at least one."""
        return max(1.0, self._remaining())

    def is_over(self) -> bool:
        """Whether the part should stop by itself, shortly before its process is ended."""
        return self._remaining() <= 0.0

    def _remaining(self) -> float:
        margin = min(LARGEST_MARGIN, MARGIN * self.limit)
        return self.limit - margin - (time.perf_counter() - self.began)

    def in_time(self, items: Sequence[Item], name: Callable[[Item], str] = str) -> Iterator[Item]:
        """The items one by one, as long as there is time.

        Raises:
            UnfinishedError: the time was over; with the names of the items that were not reached.
        """
        for number, item in enumerate(items):
            if self.is_over():
                raise unreached([name(each) for each in items[number:]], len(items))
            yield item

    def wrong(self, text: str) -> None:
        """Write down something that does not hold: the part then counts as failed, however it ends."""
        write_wrong(self.path.parent, text)

    def holds(self, headline: str) -> None:
        """Report the headline of a part that checks results, if it found nothing wrong."""
        if not self.findings:
            self.report(headline=headline)

    @property
    def findings(self) -> list[str]:
        """All that was found wrong so far."""
        return read_wrong(self.path.parent)

    def report(self, **figures: Any) -> None:
        """Write figures down; ``headline`` is the one for the table, and ``rows`` are those of ``row``."""
        if not isinstance(figures.get("rows", []), list):
            raise TypeError(f"rows={figures['rows']!r} is not the rows of a part's table; give the figure another name")
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
