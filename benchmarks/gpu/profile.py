"""Shares of a training iteration: env, policy, sampling, update, other, idle; and the largest gap of the device.

One of the trainer's own iterations is recorded, and shares are of its length under the profiler, which is longer than
without; both are reported. Kernels are distinguished by their names: those of the world and its draws are the
package's own, what follows the last of them is the update's, and before it torch's are the policy's, with the one that
advances the row and those of a memory. Copies and fills of the rollout and the adding up of episodes are other things.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from .cases import TAG_CONTINUOUS, TAG_GRIDWORLD, Case, build_trainer
from .clock import synchronise
from .part import Context, SkippedError
from .trace import Event, busy, largest_gap, record

SAMPLERS = ("ww_entry_sample", "ww_entry_act")
ENV = ("ww_entry_step", "ww_entry_reset", "ww_entry_idle")  # idle: the world's own work with no kernel behind it
UPDATE = tuple(
    f"ww_entry_{name}"
    for name in (
        *("estimate", "moments", "losses", "diagnose", "backward", "draw_keys", "draw_orders"),
        *("learn_passes", "learn_sequences", "means", "mean_gradients", "take_step"),
    )
)
MEMORY = ("ww_entry_remember", "ww_entry_forget")  # the policy's as it acts, the update's behind the rollout
OURS = "ww_"  # how all kernels that the package emits begin
FILL = "FillFunctor"  # of torch's zero_(), which no policy calls
WARM_UP, REPEATS = 3, 5
KINDS = ("env", "policy", "sampling", "update", "other")


def profile_iterations(context: Context) -> None:
    """Profile an iteration of both games."""
    said = []
    for case in context.in_time((TAG_GRIDWORLD, TAG_CONTINUOUS), lambda case: case.name):
        shares = profile(context, case.smaller(4, 3) if context.quick else case)
        row = context.figures["rows"][-1]
        counts = f"{row['host_calls']} calls of the host and {row['update_events']} events of updates an iteration"
        said.append(f"{case.name} idle {shares['idle']:.0%}, {counts}")
    context.report(headline=", ".join(said))


def profile(context: Context, case: Case) -> dict[str, float]:
    """Record one iteration of a trainer that is warm."""
    trainer = build_trainer(case, context.device)
    for _ in range(WARM_UP):
        trainer._iterate()
    times = [_seconds(trainer._iterate, context.device) for _ in range(REPEATS)]
    events, seconds, calls = record(trainer._iterate, context.device)
    if not events:
        raise SkippedError("the profiler sees nothing of the device here")
    shares = shares_of(events, seconds)
    context.row(
        world=case.name,
        num_envs=case.num_envs,
        num_steps=case.num_steps,
        seconds_per_iteration=statistics.median(times),
        profiled_seconds=seconds,
        shares=shares,
        largest_gap_share=gaps_of(events, seconds),
        device_events=len(events),
        update_events=kinds_of(events).count("update"),
        host_calls=calls,
        longest=_longest(events),
    )
    return shares


def _seconds(call: Callable[[], object], device: str) -> float:
    synchronise(device)
    start = time.perf_counter()
    call()
    synchronise(device)
    return time.perf_counter() - start


def shares_of(events: list[Event], seconds: float) -> dict[str, float]:
    """Shares of an iteration of ``seconds`` whose events are in order; they sum up to 1 where no two overlap."""
    by_kind: dict[str, list[Event]] = {name: [] for name in KINDS}
    for event, kind in zip(events, kinds_of(events), strict=True):
        by_kind[kind].append(event)
    shares = {name: busy(found) / seconds for name, found in by_kind.items()}
    shares["idle"] = 1.0 - busy(events) / seconds
    return shares


def kinds_of(events: list[Event]) -> list[str]:
    """The kind of each event of an iteration, in order."""
    in_rollout = [i for i, event in enumerate(events) if event.name.startswith(SAMPLERS + ENV)]
    last = in_rollout[-1] if in_rollout else -1
    return [_kind(event, is_update=i > last) for i, event in enumerate(events)]


def _kind(event: Event, is_update: bool) -> str:
    if event.name.startswith(SAMPLERS):
        return "sampling"
    if event.name.startswith(ENV):
        return "env"
    if event.name.startswith(UPDATE):
        return "update"
    if event.name.startswith(MEMORY):
        return "update" if is_update else "policy"
    if event.name.startswith(OURS):
        return "other"
    if is_update:
        return "update"
    return "policy" if event.category == "kernel" and FILL not in event.name else "other"


def gaps_of(events: list[Event], seconds: float) -> dict[str, float]:
    """Shares of an iteration: its largest gap, and the one from its last event to the first of the next iteration."""
    first, last = events[0].start, max(event.end for event in events)
    return {"inside": largest_gap(events) / seconds, "to the next": max(0.0, seconds - (last - first)) / seconds}


def _longest(events: list[Event], most: int = 8) -> list[dict[str, object]]:
    """The kernels that take most of the time."""
    totals: dict[str, list[float]] = {}
    for event in events:
        totals.setdefault(event.name[:100], []).append(event.end - event.start)
    ordered = sorted(totals.items(), key=lambda item: -sum(item[1]))
    return [{"name": name, "seconds": sum(times), "count": len(times)} for name, times in ordered[:most]]
