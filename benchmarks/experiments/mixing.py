"""VDN and QMIX, and DQN of the same agents alone: what greedy episodes earn after a training of known length."""

from __future__ import annotations

from .greedy import Wanted, learns

CPU_SECONDS = 90

MIXING = tuple(
    learns(
        f"particles_spread_{algorithm}",
        f"greedy episodes of -21 within 90 CPU seconds by {algorithm.upper()}",
        Wanted({"agent": -21.0}, cpu_seconds=CPU_SECONDS),
    )
    for algorithm in ("dqn", "vdn", "qmix")
)
