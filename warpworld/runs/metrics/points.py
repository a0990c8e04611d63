"""Logged metrics of a run: names, their points and their curves."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import dropwhile, groupby
from typing import Any, TypeGuard, TypeVar

from warpworld.runs.metrics.episode_means import ended_episodes, final_mean, recent_means

Point = tuple[float, float]
_Place = TypeVar("_Place", bound=tuple[float, ...])

RETURN = "charts/{}/episodic_return"  # of a policy, a mean over its agents and episodes
OWN = "env/"  # what the names of an environment's own metrics begin with, but for those of its policies
EPISODES = "charts/episodes"  # how many episodes a line's means are of
_OWN = re.compile(rf"{OWN}(?P<array>.+)\Z|eval/(?P<measure>[^/]+)\Z")
_OF_EPISODES = re.compile(rf"{OWN}|charts/(episodic_length|.+/episodic_return)\Z")


def own_metrics(names: Iterable[str]) -> dict[str, str]:
    """The environment's own metrics among names, each with a heading: ``env/tagger/kills`` is "tagger: kills".

    Those that it measures of policies, such as ``eval/exploitability``, are among them.
    """
    found = {name: match for name in names if (match := _OWN.match(name))}
    headings = {name: match["array"] or match["measure"] for name, match in found.items()}
    return {name: heading.replace("/", ": ").replace("_", " ") for name, heading in headings.items()}


def points_of(rows: Sequence[Mapping[str, Any]], key: str) -> list[Point]:
    """(env steps, value) of a metric, where it is a number."""
    pairs = ((row.get("env_steps"), row.get(key)) for row in rows)
    return [(x, y) for x, y in pairs if _is_number(x) and _is_number(y)]


def curve_of(rows: Sequence[Mapping[str, Any]], key: str) -> list[Point]:
    """(env steps, value) of a metric for a chart, from its first number on; NaN breaks the line where there is none.

    Nothing breaks it where the metric was not measured: in a row without it, or a mean of episodes when none ended.
    Means of episodes are over the latest ones, see ``recent_means``.
    """
    known = [row for row in rows if _is_number(row.get("env_steps")) and measures(row, key)]
    steps, values, episodes = columns_of(known, key)
    points = list(zip(steps, values, strict=True))
    if of_episodes(key):
        means = recent_means(values, episodes).tolist()
        gaps = map(math.isnan, values)
        found = zip(steps, means, gaps, strict=True)
        points = [(x, mean) for x, mean, is_gap in found if is_gap or not math.isnan(mean)]
    return list(dropwhile(lambda point: math.isnan(point[1]), points))


def columns_of(rows: Sequence[Mapping[str, Any]], key: str) -> tuple[list[float], list[float], list[float]]:
    """Env steps, values of a metric and numbers of episodes, one of each a row; NaN for what is no number."""

    def numbers(name: str) -> list[float]:
        found = (row.get(name) for row in rows)
        return [float(value) if _is_number(value) else math.nan for value in found]

    return numbers("env_steps"), numbers(key), numbers(EPISODES)


def measures(row: Mapping[str, Any], key: str) -> bool:
    """Whether a row measures a metric, be it with a number or with what is none."""
    return key in row and not (row.get(EPISODES) == 0 and of_episodes(key))


def of_episodes(key: str) -> bool:
    """Whether a metric is a mean over the episodes that ended."""
    return _OF_EPISODES.match(key) is not None


def mean_of_last_tenth(rows: Sequence[Mapping[str, Any]], key: str) -> float | None:
    """The mean of a metric over the last tenth of the env steps; None without a number.

    A mean of episodes is over the episodes that ended there, and over more until there are enough: see ``final_mean``.
    """
    known = [row for row in rows if _is_number(row.get("env_steps")) and measures(row, key)]
    steps, values, episodes = columns_of(known, key)
    return final_mean(steps, values, episodes if of_episodes(key) else [math.nan] * len(steps))


def episodes_of(rows: Sequence[Mapping[str, Any]], key: str) -> float:
    """The number of episodes that a metric's numbers are means of; enough, for rows of older runs that do not say."""
    _, values, episodes = columns_of(rows, key)
    return ended_episodes(values, episodes)


def unbroken(points: Sequence[_Place]) -> list[list[_Place]]:
    """The parts of a curve, or of a band around one, between its gaps."""
    return [list(part) for is_gap, part in groupby(points, lambda point: math.isnan(point[1])) if not is_gap]


def _is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a number that a chart can show."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float holds
        return False
