"""Settings that change during a run."""

from __future__ import annotations

from bisect import bisect_right

# a number, or points (env_steps, value) in ascending order of env_steps
Schedule = float | tuple[tuple[int, float], ...]


def value_at(schedule: Schedule, env_steps: int) -> float:
    """A schedule's value after ``env_steps`` env steps.

    Between two points it runs straight from one's value to the other's; before the first point and after the last it
    stays at theirs. Of two points at the same env step the later counts, so that two of them make a jump.
    """
    if isinstance(schedule, (int, float)):
        return float(schedule)
    steps = [step for step, _ in schedule]
    after = bisect_right(steps, env_steps)
    if after == 0:
        return float(schedule[0][1])
    if after == len(schedule):
        return float(schedule[-1][1])
    (left, low), (right, high) = schedule[after - 1], schedule[after]
    return low + (high - low) * (env_steps - left) / (right - left)
