"""An iteration of a config, part by part."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from warpworld.cli.profile.instrumentation import GRADIENT, LOSS, POLICY, VALUES, watch_iterations
from warpworld.cli.profile.machine import Peak, measure_peak
from warpworld.cli.profile.operations import Operations
from warpworld.cli.profile.span_timer import Span, SpanTimer
from warpworld.config import RunConfig, config_from_dict
from warpworld.config.endless import NEVER, endless
from warpworld.trainers.algorithms.off_policy import OffPolicy
from warpworld.trainers.trainer import Trainer

WARM_UP = 3  # iterations that do not count
LEAST = 3  # iterations that count
BY_CPP = (POLICY, VALUES, GRADIENT)  # of a policy with fused networks


@dataclass(frozen=True)
class Row:
    """A part of an iteration.

    Attributes:
        part: which.
        seconds: in an iteration.
        operations: of products and convolutions, in an iteration, as torch does them.
        nbytes: that torch's operations read and write in an iteration.
        by_torch: whether torch does the part in this run; if C++ does it, it need not move these bytes.
    """

    part: Span
    seconds: float
    operations: float
    nbytes: float
    by_torch: bool


@dataclass(frozen=True)
class Profile:
    """An iteration.

    Attributes:
        rows: its parts, the longest first.
        env_steps: that it takes.
        peak: of the machine.
        fused: policies that C++ runs.
        device: cpu or cuda.
        threads: of torch.
        iterations: that were measured.
    """

    rows: list[Row]
    env_steps: int
    peak: Peak
    fused: list[str]
    device: str
    threads: int
    iterations: int

    @property
    def seconds(self) -> float:
        """Of an iteration."""
        return sum(row.seconds for row in self.rows)

    def share(self, names: Sequence[str], policy: str | None = None) -> float:
        """Span of the time that the parts of these names take, of one policy or of all."""
        return sum(row.seconds for row in self._of(names, policy)) / self.seconds

    def of_peak(self, names: Sequence[str], policy: str | None = None) -> float:
        """Their operations per second, in parts of a plain product's."""
        rows = self._of(names, policy)
        seconds = sum(row.seconds for row in rows)
        return sum(row.operations for row in rows) / seconds / self.peak.operations if seconds else 0.0

    def _of(self, names: Sequence[str], policy: str | None) -> list[Row]:
        return [row for row in self.rows if row.part.name in names and policy in (None, row.part.policy)]


def profile(config: RunConfig, seconds: float) -> Profile:
    """Train for a moment and book the time of each part; nothing is written.

    Parts are timed one after the other, so on cuda without graphs, and with a wait for the device around each. Then an
    iteration is done by torch alone, which counts operations.

    Args:
        config: of a run.
        seconds: that are measured, about; at least ``LEAST`` iterations.

    Raises:
        WarpworldError: the config cannot be trained.
    """
    trainer = Trainer(_without_pauses(config))
    try:
        device, wait = trainer.world.device, _waiting(trainer.world.device)
        timer, iterations = _timed(trainer, seconds, wait)
        peak = measure_peak(device, wait)
        fused = [name for name, policy in trainer.policies.items() if policy is not None and _is_fused(policy)]
    finally:
        trainer.world.close()
    counted = _counted(_without_pauses(config, fused=False))
    rows = []
    for part, (spent,) in timer.totals.items():
        operations, nbytes = counted.get(part, (0.0, 0.0))
        by_torch = part.policy not in fused or part.name not in BY_CPP
        rows.append(Row(part, spent / iterations, operations, nbytes, by_torch))
    rows = _with_losses(rows, counted)
    rows.sort(key=lambda row: -row.seconds)
    sizes = config.trainer
    return Profile(
        rows, sizes.num_envs * sizes.num_steps, peak, fused, device.type, torch.get_num_threads(), iterations
    )


def operations_of(config: RunConfig) -> dict[Span, float]:
    """Operations of products and convolutions in an iteration, by part, as torch does them; nothing is written.

    Raises:
        WarpworldError: the config cannot be trained.
    """
    return {part: counts[0] for part, counts in _counted(_without_pauses(config, fused=False)).items()}


def _warm_up(trainer: Trainer, iterations: int) -> None:
    """Do what happens only once, until all algorithms learn."""
    replays = [each for each in trainer.algorithms.values() if isinstance(each, OffPolicy)]
    for _ in range(iterations):
        trainer._iterate()
    while any(each.transitions < each.settings.learning_starts for each in replays):
        trainer._iterate()


def _timed(trainer: Trainer, seconds: float, wait: Callable[[], None]) -> tuple[SpanTimer, int]:
    def clock() -> tuple[float]:
        wait()
        return (time.perf_counter(),)

    _warm_up(trainer, WARM_UP)
    timer, iterations, until = SpanTimer(clock), 0, time.perf_counter() + seconds
    watch_iterations(timer, trainer)
    try:
        while iterations < LEAST or time.perf_counter() < until:
            trainer._iterate()
            iterations += 1
    finally:
        timer.restore()
    return timer, iterations


def _counted(config: RunConfig) -> dict[Span, list[float]]:
    """Operations and bytes of an iteration that torch does, by part."""
    trainer, counter = Trainer(config), Operations()
    try:
        _warm_up(trainer, 1)
        timer = SpanTimer(counter.read)
        watch_iterations(timer, trainer)
        try:
            with counter:
                trainer._iterate()
        finally:
            timer.restore()
    finally:
        trainer.world.close()
    return timer.totals


def _with_losses(rows: list[Row], counted: dict[Span, list[float]]) -> list[Row]:
    """Where C++ does forward, loss and gradient at once, that row has the operations of both."""
    found = []
    for row in rows:
        loss = counted.get(Span(LOSS, row.part.policy), [0.0, 0.0])
        if row.part.name == GRADIENT and not row.by_torch:
            row = replace(row, operations=row.operations + loss[0], nbytes=row.nbytes + loss[1])
        found.append(row)
    return found


def _without_pauses(config: RunConfig, **changes: Any) -> RunConfig:
    """The config without an end, and without what is done now and then."""
    data = endless(config).to_dict()
    data["trainer"] |= {"graph_steps": 0, **changes}
    data["saving"]["log_every"] = NEVER
    return config_from_dict(data)


def _waiting(device: torch.device) -> Callable[[], None]:
    return (lambda: torch.cuda.synchronize(device)) if device.type == "cuda" else (lambda: None)


def _is_fused(policy: Any) -> bool:
    return getattr(policy.model, "fused", None) is not None
