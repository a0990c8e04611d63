"""Where a training iteration goes: env, policy, sampling, update, idle; and the largest gap in which the device waits.

Shares are of an iteration's time without the profiler. Kernels are told apart by their names in the profiled rollout;
what the device does outside the rollout is the update's.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from .cases import TAG_CONTINUOUS, TAG_GRIDWORLD, Case, build_trainer
from .clock import synchronise
from .part import Context, SkippedError
from .trace import Event, busy, largest_gap, record

OUR_KERNELS = "ww_"  # how the kernels that the package emits are called
SAMPLERS = ("sample", "ww_entry_act")
REPEATS = 5


def profile_iterations(context: Context) -> None:
    """Of both games."""
    said = []
    for case in (TAG_GRIDWORLD, TAG_CONTINUOUS):
        shares = _profile(context, case)
        said.append(f"{case.name} idle {shares['idle']:.0%}")
    context.report(headline=", ".join(said))


def _profile(context: Context, case: Case) -> dict[str, float]:
    trainer = build_trainer(case, context.device)

    def rollout() -> None:
        trainer.rollout.collect()
        trainer.episodes.finished()

    def update() -> None:
        trainer.rollout.check_finite()
        trainer._update()

    for _ in range(3):
        rollout()
        update()
    times = [(_seconds(rollout, context.device), _seconds(update, context.device)) for _ in range(REPEATS)]
    iteration = statistics.median(first + second for first, second in times)
    of_rollout, of_update = record(rollout, context.device), record(update, context.device)
    if not of_rollout:
        raise SkippedError("the profiler sees nothing of the device here")
    shares = shares_of(of_rollout, of_update, iteration)
    context.row(
        world=case.name,
        num_envs=case.num_envs,
        num_steps=case.num_steps,
        seconds_per_iteration=iteration,
        rollout_seconds=statistics.median(first for first, _ in times),
        shares=shares,
        largest_gap_share={
            "rollout": largest_gap(of_rollout) / iteration,
            "update": largest_gap(of_update) / iteration,
        },
        device_events={"rollout": len(of_rollout), "update": len(of_update)},
        longest=_longest(of_rollout + of_update),
    )
    return shares


def _seconds(call: Callable[[], object], device: str) -> float:
    synchronise(device)
    start = time.perf_counter()
    call()
    synchronise(device)
    return time.perf_counter() - start


def shares_of(rollout: list[Event], update: list[Event], iteration: float) -> dict[str, float]:
    """Shares of an iteration of ``iteration`` seconds; they sum up to 1 where no two events overlap."""
    parts: dict[str, list[Event]] = {"env": [], "policy": [], "sampling": []}
    for event in rollout:
        parts[kind_of(event)].append(event)
    shares = {name: busy(events) / iteration for name, events in parts.items()}
    shares["update"] = busy(update) / iteration
    shares["idle"] = max(0.0, 1.0 - (busy(rollout) + busy(update)) / iteration)
    return shares


def kind_of(event: Event) -> str:
    """What a rollout's event belongs to."""
    if OUR_KERNELS not in event.name:
        return "policy"
    return "sampling" if any(name in event.name for name in SAMPLERS) else "env"


def _longest(events: list[Event], most: int = 8) -> list[dict[str, object]]:
    """The kernels that take most of the time."""
    totals: dict[str, list[float]] = {}
    for event in events:
        totals.setdefault(event.name[:100], []).append(event.end - event.start)
    ordered = sorted(totals.items(), key=lambda item: -sum(item[1]))
    return [{"name": name, "seconds": sum(times), "count": len(times)} for name, times in ordered[:most]]
