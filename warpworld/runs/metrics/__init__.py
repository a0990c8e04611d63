"""Metrics of a run: their logged lines read back, their points and curves, and statistics of them."""

from warpworld.runs.metrics.episode_means import FEWEST_EPISODES, RecentMean, recent_means
from warpworld.runs.metrics.intervals import (
    LEVEL,
    Values,
    bootstrap_interval,
    interquartile_mean,
    mean,
    probability_of_improvement,
    stratified_interval,
)
from warpworld.runs.metrics.metric_files import Damage, Metrics, find_damage, good_rows, read_metrics, whole_lines
from warpworld.runs.metrics.points import (
    EPISODES,
    RETURN,
    Point,
    curve_of,
    episodes_of,
    mean_of_last_tenth,
    of_episodes,
    own_metrics,
    points_of,
    unbroken,
)
from warpworld.runs.metrics.unrewarded import UNREWARDED, Unrewarded

__all__ = [
    "EPISODES",
    "FEWEST_EPISODES",
    "LEVEL",
    "RETURN",
    "UNREWARDED",
    "Damage",
    "Metrics",
    "Point",
    "RecentMean",
    "Unrewarded",
    "Values",
    "bootstrap_interval",
    "curve_of",
    "episodes_of",
    "find_damage",
    "good_rows",
    "interquartile_mean",
    "mean",
    "mean_of_last_tenth",
    "of_episodes",
    "own_metrics",
    "points_of",
    "probability_of_improvement",
    "read_metrics",
    "recent_means",
    "stratified_interval",
    "unbroken",
    "whole_lines",
]
