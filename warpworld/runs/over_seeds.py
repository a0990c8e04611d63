"""Results over seeds: the mean and the interquartile mean of their last returns, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpworld.runs.metrics import LEVEL, bootstrap_interval, interquartile_mean, mean
from warpworld.runs.run_data import RunData
from warpworld.text import shown

FEWEST_SEEDS = 3  # runs that are shown as one, with an interval: fewer hardly say how far others would be
STATISTICS = {"mean": mean, "interquartile mean": interquartile_mean}
HEADING = f"{LEVEL:.0%} bootstrap interval in brackets"


def final_returns(data: Sequence[RunData], policy: str) -> list[float | None]:
    """Mean returns of the runs over the last tenth of their env steps; None where no episode has ended."""
    return [run.at_last(f"charts/{policy}/episodic_return") for run in data]


def statistics_of(returns: Sequence[float | None]) -> dict[str, str]:
    """Statistics of the runs' returns as text, by name, with their intervals if there are enough runs."""
    values = np.array([value for value in returns if value is not None], np.float64)
    found = {}
    for name, statistic in STATISTICS.items():
        found[name] = shown(float(statistic(values))) if values.size else "-"
        if values.size >= FEWEST_SEEDS:
            low, high = bootstrap_interval(values, statistic)
            found[name] += f" [{shown(float(low))}, {shown(float(high))}]"
    return found
