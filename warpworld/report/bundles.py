"""Runs that differ in their seed alone, as one line: their interquartile mean, in a band that is its interval."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpworld.report.charts import Series
from warpworld.runs import FEWEST_SEEDS, LEVEL, RunData, Values, bootstrap_interval, flat, interquartile_mean, labels

BAND = f"interquartile mean and {LEVEL:.0%} interval"


@dataclass(frozen=True)
class Bundle:
    """Runs that a chart shows as one line.

    Attributes:
        label: for the legend.
        runs: one, or at least ``FEWEST_SEEDS`` that differ in their seed alone.
    """

    label: str
    runs: Sequence[RunData]

    def series(self, key: str, colour: int) -> Series:
        """The line of a metric: of several runs over the env steps at which more than half of them have logged it."""
        if len(self.runs) == 1:
            return Series(self.label, colour, self.runs[0].curve(key))
        curves = [dict(run.curve(key)) for run in self.runs]
        count = Counter(x for curve in curves for x in curve)
        common = sorted(x for x, number in count.items() if 2 * number > len(curves))
        values = [np.array([curve[x] for curve in curves if x in curve]) for x in common]
        points = [(x, float(interquartile_mean(ys))) for x, ys in zip(common, values, strict=True)]
        return Series(self.label, colour, points, _band(common, values))


def _band(steps: Sequence[float], values: Sequence[Values]) -> list[tuple[float, float, float]]:
    """The interval at each step; steps that as many runs have logged are drawn for together."""
    found = []
    for count in {len(ys) for ys in values}:
        alike = [i for i, ys in enumerate(values) if len(ys) == count]
        ends = bootstrap_interval(np.stack([values[i] for i in alike]), interquartile_mean)
        found += [(steps[i], float(low), float(high)) for i, low, high in zip(alike, *ends, strict=True)]
    return sorted(found)


def bundles(data: Sequence[RunData]) -> list[Bundle]:
    """The lines of runs, in their order."""
    # runs that differ in their seed alone
    alike: dict[str, list[RunData]] = {}
    for run in data:
        own = "" if run.rows else f"{run.path}: "  # a run that has logged nothing stands alone
        alike.setdefault(f"{own}{_without_seed(run)}", []).append(run)
    groups = list(alike.values())
    if all(len(group) < FEWEST_SEEDS for group in groups):
        return [Bundle(run.label, [run]) for run in data]
    if len(groups) == 1:
        return [Bundle(f"{BAND} of {_number(data)}", data)]
    # several bundles, named by what differs
    named = labels([_unseeded(group[0].config.settings) for group in groups], [group[0].name for group in groups])
    found = []
    for group, name in zip(groups, named, strict=True):
        several = [Bundle(f"{name}, {_number(group)}", group)]
        found += several if len(group) >= FEWEST_SEEDS else [Bundle(run.label, [run]) for run in group]
    return found


def _number(group: Sequence[RunData]) -> str:
    """Number of seeds of a group, or of runs where two have the same seed."""
    seeds = {run.config.trainer.get("seed") for run in group}
    return f"{len(group)} {'seeds' if len(seeds) == len(group) else 'runs'}"


def _without_seed(run: RunData) -> str:
    """Key of a run's settings without the seed: equal for runs that differ in their seeds alone."""
    settings = dict(flat(_unseeded(run.config.settings)))
    return json.dumps({key: value for key, value in settings.items() if not key.startswith("saving.")}, sort_keys=True)


def _unseeded(settings: Any) -> dict[str, Any]:
    own: dict[str, Any] = copy.deepcopy(dict(settings))
    own["trainer"] = {key: value for key, value in own["trainer"].items() if key != "seed"}
    return own
