"""Notices learning that has collapsed, and suggests what to try."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Collection, Mapping
from statistics import fmean, median
from typing import Any, TypeGuard

from warpworld.config import LearnerConfig, RunConfig
from warpworld.runs import EPISODES, RecentMean
from warpworld.text import shown

logger = logging.getLogger(__name__)

READINGS = 10  # logged iterations that are looked at together
DEAD = 0.01  # part of the first entropy that counts as none
FALL = 3.0  # standard deviations that a return falls by where it falls for good
GROWTH = 1000.0  # times its median so far by which a number explodes
LARGE = {"grad_norm": 1e3, "value_loss": 1e4}  # what does not explode below


class CollapseDetector:
    """Follows a run's metrics and warns once of each policy and cause.

    A policy is dead where its entropy is gone in ``READINGS`` logged iterations in a row, while its mean return lies
    far below that of its best ones. Gradients or values explode where they are ``GROWTH`` times as large as they used
    to be. A number that is no longer finite ends the run elsewhere.

    Args:
        config: the run's configuration.
    """

    def __init__(self, config: RunConfig) -> None:
        entries = {name: entry for name, entry in config.policy.items() if isinstance(entry, LearnerConfig)}
        self._policies = {name: _Policy(name, entry) for name, entry in entries.items() if entry.train}

    def update(self, metrics: Mapping[str, Any]) -> None:
        """Take in the metrics of an iteration, which may not have been logged."""
        for policy in self._policies.values():
            policy.update(metrics)


class _Policy:
    """Metrics of one policy so far."""

    def __init__(self, name: str, entry: LearnerConfig) -> None:
        self._name, self._entry = name, entry
        self._recent = RecentMean()
        self._returns: deque[float] = deque(maxlen=READINGS)
        self._entropies: deque[float] = deque(maxlen=READINGS)
        self._first_entropy = math.nan
        self._best = (-math.inf, 0.0)  # mean and deviation of the best READINGS returns in a row
        self._past = {key: deque[float](maxlen=200) for key in LARGE}
        self._high = dict.fromkeys(LARGE, 0)  # readings in a row that were too large
        self._warned: set[str] = set()

    def update(self, metrics: Mapping[str, Any]) -> None:
        """Take in the metrics of an iteration."""
        reward, entropy = metrics.get(f"charts/{self._name}/episodic_return"), metrics.get(self._key("entropy"))
        # returns, by recent means
        if _is_finite(reward):
            self._recent.add(reward, metrics.get(EPISODES))
            if self._recent.is_full and self._recent.value is not None:
                self._returns.append(self._recent.value)
            if len(self._returns) == READINGS:
                self._best = max(self._best, (fmean(self._returns), _deviation(self._returns)))
        # entropy, beside the first
        if _is_finite(entropy):
            if math.isnan(self._first_entropy):
                self._first_entropy = entropy
            self._entropies.append(entropy)
        self._look_at_entropy()
        # numbers that may explode
        for key in LARGE:
            value = metrics.get(self._key(key))
            if _is_finite(value):
                self._look_at(key, value)

    def _key(self, name: str) -> str:
        return f"losses/{self._name}/{name}"

    def _look_at_entropy(self) -> None:
        if len(self._entropies) < READINGS or len(self._returns) < READINGS or self._first_entropy <= 0:
            return
        now, (best, deviation) = fmean(self._returns), self._best
        has_fallen = best - now > FALL * max(deviation, _deviation(self._returns)) and best - now > 0.05 * abs(best)
        if has_fallen and max(map(abs, self._entropies)) < DEAD * self._first_entropy:
            self._warn(
                "dead",
                f"entropy {self._entropies[-1]:.2g} ({self._first_entropy:.2g} at first), and the mean return fell "
                f"from {shown(best)} to {shown(now)}",
                {"ent_coef": "a higher", "learning_rate": "a lower"},
            )

    def _look_at(self, key: str, value: float) -> None:
        past = self._past[key]
        usual = median(past) if len(past) >= READINGS else math.inf
        is_high = value > LARGE[key] and value > GROWTH * usual
        self._high[key] = self._high[key] + 1 if is_high else 0
        if not is_high:
            past.append(value)
        if self._high[key] == 3:
            advice = {"learning_rate": "a lower", "max_grad_norm": "a lower"}
            self._warn(key, f"{key} is {value:.2g}, and {usual:.2g} before", advice)

    def _warn(self, cause: str, what: str, advice: Mapping[str, str]) -> None:
        """Say it once, with the settings that the policy's algorithm has."""
        if cause in self._warned:
            return
        self._warned.add(cause)
        known = [f"{how} policy.{self._name}.{key}" for key, how in advice.items() if hasattr(self._entry, key)]
        reward = "" if cause == "dead" else "smaller rewards"
        attempts = " or ".join(filter(None, [*known, reward]))
        logger.warning("policy '%s' has stopped learning: %s. Try %s", self._name, what, attempts)


def _deviation(values: Collection[float]) -> float:
    """Standard deviation in floats: that of ``statistics`` is exact, and takes long in every iteration."""
    mean = fmean(values)
    return math.sqrt(fmean((value - mean) ** 2 for value in values))


def _is_finite(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and math.isfinite(value)
