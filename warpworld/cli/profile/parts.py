"""Parts of an iteration, timed as the program runs, or counted while torch does all of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import torch

from warpworld.cli.profile.operations import Operations
from warpworld.cli.profile.span_timer import SpanTimer
from warpworld.config import RunConfig, config_from_dict, endless
from warpworld.trainers import Trainer, timed_iterations
from warpworld.trainers.algorithms import OffPolicy
from warpworld.trainers.spans import POLICY, SAMPLING, Recorder, Span, recording

WARM_UP = 3  # iterations that do not count
LEAST = 3  # iterations that count


def timed_parts(trainer: Trainer, seconds: float, wait: Callable[[], None]) -> tuple[dict[Span, list[float]], int]:
    """Seconds of each part in iterations of a warm trainer, and how many these are."""

    def clock() -> tuple[float]:
        wait()
        return (time.perf_counter(),)

    warm_up(trainer, WARM_UP)
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
        warm_up(trainer, 1)
        timer = SpanTimer(counter.read)
        with recording(timer), counter:
            timed_iterations(trainer, 0.0)
    finally:
        trainer.world.close()
    return _by_policy(timer.totals, config)


def warm_up(trainer: Trainer, iterations: int) -> None:
    """Do what happens only once, until all algorithms learn."""
    timed_iterations(trainer, 0.0, iterations)
    replays = [each for each in trainer.algorithms.values() if isinstance(each, OffPolicy)]
    while any(each.transitions < each.settings.learning_starts for each in replays):
        timed_iterations(trainer, 0.0)


def record_iteration(trainer: Trainer, recorder: Recorder, iterations: int) -> None:
    """Let a recorder receive the spans of one iteration, behind so many others."""
    warm_up(trainer, iterations)
    with recording(recorder):
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


def waiting(device: torch.device) -> Callable[[], None]:
    """Gives a wait for the device; a CUDA graph that is being captured cannot wait."""
    if device.type != "cuda":
        return lambda: None
    return lambda: None if torch.cuda.is_current_stream_capturing() else torch.cuda.synchronize(device)
