"""An iteration of a config, part by part."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from warpworld.cli.profile.operations import Operations
from warpworld.cli.profile.peak import Peak, measure_peak
from warpworld.cli.profile.span_timer import SpanTimer
from warpworld.config import RunConfig, config_from_dict, endless
from warpworld.trainers import Trainer, timed_iterations
from warpworld.trainers.algorithms import OffPolicy
from warpworld.trainers.spans import (
    ACT_AND_STEP,
    DRAW,
    ENV_STEP,
    GRADIENT,
    LOSS,
    NORMALISER,
    ORDER,
    PASSES,
    POLICY,
    PRIORITIES,
    RETURNS,
    ROLLOUT,
    SAMPLING,
    STEP,
    UPDATE,
    VALUES,
    Span,
    recording,
)

WARM_UP = 3  # iterations that do not count
LEAST = 3  # iterations that count
BY_CPP = (POLICY, VALUES, GRADIENT)  # of a policy with fused networks
CALLS = (ACT_AND_STEP, PASSES)  # of C++, each for several parts
# The part that a part is within where it has no row of its own, since one call or one CUDA graph does both.
WITHIN = {
    **dict.fromkeys((POLICY, SAMPLING, ENV_STEP), ACT_AND_STEP),
    ACT_AND_STEP: ROLLOUT,
    **dict.fromkeys((LOSS, STEP, DRAW, PRIORITIES), GRADIENT),
    GRADIENT: PASSES,
    **dict.fromkeys((PASSES, VALUES, RETURNS, ORDER, NORMALISER), UPDATE),
}


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
        """Seconds of an iteration."""
        return sum(row.seconds for row in self.rows)

    def share(self, names: Sequence[str], policy: str | None = None) -> float:
        """Share of the time that the parts of these names take, of one policy or of all."""
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

    The parts are those that Python starts one after the other, on cuda with a wait for the device around each; what one
    call of C++ or one CUDA graph does is one part. Then an iteration is done by torch alone, which counts operations.

    Args:
        config: of a run.
        seconds: that are measured, about; at least ``LEAST`` iterations.

    Raises:
        WarpworldError: the config cannot be trained.
    """
    # times of the program that trains
    trainer = Trainer(endless(config))
    try:
        device, wait = trainer.world.device, _waiting(trainer.world.device)
        timed, iterations = _timed(trainer, seconds, wait)
        peak = measure_peak(device, wait)
        fused = [name for name, policy in trainer.policies.items() if policy is not None and _is_fused(policy)]
    finally:
        trainer.world.close()
    counted = _placed(operations_of(config), timed)
    rows = []
    for part, (spent,) in timed.items():
        by_torch = part.name not in CALLS and (part.policy not in fused or part.name not in BY_CPP)
        operations, nbytes = counted[part]
        rows.append(Row(part, spent / iterations, operations, nbytes, by_torch))
    rows.sort(key=lambda row: -row.seconds)
    sizes = config.trainer
    return Profile(
        rows, sizes.num_envs * sizes.num_steps, peak, fused, device.type, torch.get_num_threads(), iterations
    )


def _timed(trainer: Trainer, seconds: float, wait: Callable[[], None]) -> tuple[dict[Span, list[float]], int]:
    """Seconds of each part in iterations of a warm trainer, and how many these are."""

    def clock() -> tuple[float]:
        wait()
        return (time.perf_counter(),)

    _warm_up(trainer, WARM_UP)
    timer = SpanTimer(clock)
    with recording(timer):
        times = timed_iterations(trainer, seconds, LEAST)
    return _by_policy(timer.totals, trainer.config), len(times.totals)


def operations_of(config: RunConfig) -> dict[Span, list[float]]:
    """Operations and bytes of an iteration that torch does, by part."""
    data = endless(config).to_dict()
    data["trainer"] |= {"graph_steps": 0, "fused": False}
    trainer, counter = Trainer(config_from_dict(data)), Operations()
    try:
        _warm_up(trainer, 1)
        timer = SpanTimer(counter.read)
        with recording(timer), counter:
            timed_iterations(trainer, 0.0)
    finally:
        trainer.world.close()
    return _by_policy(timer.totals, config)


def _warm_up(trainer: Trainer, iterations: int) -> None:
    """Do what happens only once, until all algorithms learn."""
    timed_iterations(trainer, 0.0, iterations)
    replays = [each for each in trainer.algorithms.values() if isinstance(each, OffPolicy)]
    while any(each.transitions < each.settings.learning_starts for each in replays):
        timed_iterations(trainer, 0.0)


def _by_policy(totals: Mapping[Span, Sequence[float]], config: RunConfig) -> dict[Span, list[float]]:
    """Sums over a policy's groups, of parts that act."""
    policies = {group: name for name, entry in config.policy.items() for group in entry.groups}
    found: dict[Span, list[float]] = {}
    for part, numbers in totals.items():
        if part.name in (POLICY, SAMPLING) and part.policy:
            part = Span(part.name, policies[part.policy])
        before = found.get(part, [0.0] * len(numbers))
        found[part] = [one + other for one, other in zip(before, numbers, strict=True)]
    return found


def _placed(counted: Mapping[Span, list[float]], timed: Collection[Span]) -> dict[Span, list[float]]:
    """Counts of each timed part: its own, and those of parts that this run does within its call."""
    found = {part: [0.0, 0.0] for part in timed}
    for part, numbers in counted.items():
        name: str | None = part.name
        while name is not None:
            place = next((each for each in (Span(name, part.policy), Span(name)) if each in found), None)
            if place is not None:
                found[place] = [one + other for one, other in zip(found[place], numbers, strict=True)]
                break
            name = WITHIN.get(name)
    return found


def _waiting(device: torch.device) -> Callable[[], None]:
    """Gives a wait for the device; a CUDA graph that is being captured cannot wait."""
    if device.type != "cuda":
        return lambda: None
    return lambda: None if torch.cuda.is_current_stream_capturing() else torch.cuda.synchronize(device)


def _is_fused(policy: Any) -> bool:
    return getattr(policy.model, "fused", None) is not None
