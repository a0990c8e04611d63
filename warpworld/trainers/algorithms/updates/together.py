"""Updates of several policies in one CUDA graph: inputs of the host are one copy, and passes are side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from warpworld.trainers.algorithms.updates.gradients import Steps
from warpworld.trainers.algorithms.updates.joint_passes import PassLaunches, launch_together
from warpworld.trainers.algorithms.updates.summaries import Summaries, Summary
from warpworld.trainers.collecting import Collector, Recorder
from warpworld.trainers.spans import PASSES, UPDATE, span


class Joined(Protocol):
    """An update that a graph holds beside those of other policies.

    Attributes:
        name: of its groups.
    """

    name: str

    def begin_with(self, words: Tensor) -> None:
        """Take in the host's inputs, (words,) int32 on the device."""

    def begin(self) -> Steps | None:
        """Put on the device what comes before the update's first passes, the same work in each call; gives these."""

    def make_passes(self, steps: Steps | None) -> Summary | None:
        """Put all passes on the device, from what ``begin`` gave; gives the diagnostics that are then to be found."""

    def end(self, summary: Summary | None) -> None:
        """Put the rest on the device, once the diagnostics that ``make_passes`` gave are found."""

    def written(self) -> list[Tensor]:
        """Tensors that it writes, besides arrays of the store."""


class Together(Recorder):
    """Runs the updates that are begun within ``at_once`` when it ends, in one graph; it records nothing.

    Attributes:
        launches: of the passes of all policies, of updates that are begun elsewhere, too.
        summaries: find diagnostics, likewise.

    Args:
        collector: of an unsealed world, whose algorithms share this object.
    """

    def __init__(self, collector: Collector) -> None:
        self.launches, self.summaries = PassLaunches(collector.world), Summaries(collector.world)
        self._world, self._captures = collector.world, collector.graph_steps > 0
        self._known, self._due = list[Joined](), list[tuple[Joined, np.ndarray]]()
        self._is_open = False
        self._replay: Callable[[], None] | None = None
        collector.together = self.at_once

    def add(self, update: Joined) -> None:
        """Let an update be run beside others, if there are others."""
        self._known.append(update)

    def takes(self, update: Joined, words: np.ndarray) -> bool:
        """Whether an update with these inputs is run when ``at_once`` ends, and not by itself."""
        if not self._is_open or len(self._known) < 2 or update not in self._known:
            return False
        self._due.append((update, words))
        return True

    @contextmanager
    def at_once(self) -> Iterator[Sequence[object]]:
        """Run what is begun meanwhile at the end, and nothing if that fails; gives the list of what is begun."""
        self._is_open = True
        try:
            yield self._due
            if self._due:
                with span(UPDATE):
                    self._run()
        finally:
            self._is_open = False
            self._due.clear()

    def forget(self) -> None:
        """Capture again at the next update: what one of them writes lies elsewhere."""
        self._replay = None

    def _run(self) -> None:
        words = np.concatenate([own for _, own in self._due])
        if self._replay is None:
            self._inputs = torch.empty(len(words), dtype=torch.int32, device=self._world.device)
        self._inputs.copy_(torch.from_numpy(words))
        if self._replay is None:
            self._replay = self._captured()
        self._replay()

    def _captured(self) -> Callable[[], None]:
        """All updates, as a graph where it is wanted."""
        lengths = [len(words) for _, words in self._due]
        updates = [update for update, _ in self._due]

        def run() -> None:
            passes = list[Steps | None]()
            for update, words in zip(updates, self._inputs.split(lengths), strict=True):
                with span(UPDATE, update.name):
                    update.begin_with(words)
                    passes.append(update.begin())
            with span(PASSES):
                launch_together(passes)
            summaries = list[Summary | None]()
            for update, steps in zip(updates, passes, strict=True):
                with span(UPDATE, update.name):
                    summaries.append(update.make_passes(steps))
            self.summaries(summaries)
            for update, summary in zip(updates, summaries, strict=True):
                with span(UPDATE, update.name):
                    update.end(summary)

        written = [tensor for update in updates for tensor in update.written()]
        return self._world.capture_update(run, written) if self._captures else run
