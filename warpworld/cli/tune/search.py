"""The search for a run's sizes: doublings of one number after the other, until more does not pay or time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warpworld.cli.tune.choice import KINDS, chosen, fits, has_flattened
from warpworld.cli.tune.measure import Speeds, measure
from warpworld.config import LearnerConfig, RunConfig
from warpworld.errors import ConfigError, ShortageError

FIRST = 16  # envs that a search begins with, or somewhat more
LARGEST = 1 << 20
WINDOW_SHARE = 1 / 40  # of the time there is, for each measurement

Measure = Callable[[RunConfig, Mapping[str, Any], float], Speeds]


@dataclass(frozen=True)
class Tried:
    """A setting and how fast it was.

    Attributes:
        changes: settings that differ from the config, by name.
        speeds: what was measured.
    """

    changes: Mapping[str, Any]
    speeds: Speeds


@dataclass
class Found:
    """Results of a search.

    Attributes:
        sizes: of rising numbers of envs.
        others: of other numbers, each at the chosen number of envs: by name, in rising order.
        best: the settings to take.
        ending: why no larger number of envs was tried.
        untried: numbers for whose values there was no time left.
    """

    sizes: list[Tried] = field(default_factory=list)
    others: dict[str, list[Tried]] = field(default_factory=dict)
    best: dict[str, Any] = field(default_factory=dict)
    ending: str = ""
    untried: list[str] = field(default_factory=list)


class Search:
    """Doubles num_envs while anything gets faster, then tries workers, captured steps, packing and minibatches.

    Attributes:
        found: what was found so far.

    Args:
        config: of the run.
        seconds: that the search may take; a measurement that has begun is finished.
        keep_batch: divide num_steps by as much as num_envs grows over the config's.
        cores: that there are.
        by: what measures.
        clock: seconds, rising.
    """

    def __init__(
        self,
        config: RunConfig,
        seconds: float,
        keep_batch: bool = False,
        cores: int = 1,
        by: Measure = measure,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._config, self._keep_batch, self._cores = config, keep_batch, cores
        self._measure, self._clock = by, clock
        self.found = Found()
        self._window, self._until = seconds * WINDOW_SHARE, clock() + seconds

    def run(self) -> Iterator[Tried]:
        """Yield each measurement as it is made; ``found`` has all of them."""
        found = self.found
        yield from self._sizes(found)
        place = chosen([tried.speeds.training for tried in found.sizes])
        found.best = dict(found.sizes[place].changes)
        for name, values in self._numbers(found).items():
            yield from self._values(found, name, values)

    def _sizes(self, found: Found) -> Iterator[Tried]:
        """Double the number of envs."""
        num_envs = _halved(self._config.trainer.num_envs, FIRST)
        while not found.ending:
            try:
                tried = self._try(self._sized(num_envs))
            except (ConfigError, ShortageError) as error:
                is_smaller = num_envs < self._config.trainer.num_envs
                if isinstance(error, ShortageError) or not is_smaller:
                    if not found.sizes:
                        raise
                    found.ending = str(error)  # else there are few envs for a share of them, or for many minibatches
            else:
                found.sizes.append(tried)
                found.ending = self._why_enough(found.sizes, num_envs)
                yield tried
            num_envs *= 2

    def _why_enough(self, sizes: Sequence[Tried], num_envs: int) -> str:
        """Reason why no larger number of envs is tried; "" if one is."""
        speeds = sizes[-1].speeds
        if all(has_flattened([getattr(tried.speeds, kind) for tried in sizes]) for kind in KINDS):
            return "nothing gets faster"
        if not fits(speeds.nbytes, speeds.free):
            return "twice as many envs would take more than half of the free memory"
        if self._keep_batch and self._batch % (2 * num_envs):
            return f"{2 * num_envs:,} envs have no {self._batch:,} env steps in an iteration"
        if num_envs >= LARGEST:
            return f"there are {LARGEST:,}"
        return "time is up" if self._clock() >= self._until else ""

    def _sized(self, num_envs: int) -> dict[str, Any]:
        """The settings of a number of envs."""
        if not self._keep_batch:
            return {"num_envs": num_envs}
        return {"num_envs": num_envs, "num_steps": self._batch // num_envs}

    @property
    def _batch(self) -> int:
        """Env steps of an iteration, as configured."""
        return self._config.trainer.num_envs * self._config.trainer.num_steps

    def _numbers(self, found: Found) -> dict[str, list[Any]]:
        """The other numbers that are tried, by name."""
        trainer, numbers = self._config.trainer, dict[str, list[Any]]()
        # sizes of the device
        if found.sizes[0].speeds.device == "cuda":
            numbers["graph_steps"] = _doublings(8, 128)
            packed = found.sizes[0].speeds.envs_per_warp
            numbers["envs_per_warp"] = [*reversed(_doublings(1, packed)), 0] if packed > 1 else []
        else:
            numbers["num_workers"] = _doublings(1, self._cores)
        # minibatches, if all policies have as many
        learning = [entry for entry in self._config.policy.values() if isinstance(entry, LearnerConfig) and entry.train]
        batches = {entry.num_minibatches for entry in learning if hasattr(entry, "num_minibatches")}
        if len(batches) == 1:
            (now,) = batches
            steps = found.best["num_envs"] * found.best.get("num_steps", trainer.num_steps)
            numbers["num_minibatches"] = [each for each in _doublings(1, 4 * now) if steps % each == 0]
        return numbers

    def _values(self, found: Found, name: str, values: Sequence[Any]) -> Iterator[Tried]:
        """Try some values of one setting with the best of those before."""
        row = found.others.setdefault(name, [])
        for value in values:
            if self._clock() >= self._until:
                found.untried.append(name)
                break
            try:
                tried = self._try({**found.best, name: value})
            except (ConfigError, ShortageError):  # sequences that do not divide into so many minibatches, or no room
                continue
            row.append(tried)
            yield tried
        if len(row) > 1 and name != "num_minibatches":  # more or fewer of them learn something else
            found.best = dict(row[chosen([tried.speeds.training for tried in row])].changes)

    def _try(self, changes: Mapping[str, Any]) -> Tried:
        return Tried(changes, self._measure(self._config, changes, self._window))


def _halved(number: int, least: int) -> int:
    """A number that doublings lead to another from, at least ``least`` or the other itself."""
    while number % 2 == 0 and number // 2 >= least:
        number //= 2
    return number


def _doublings(first: int, last: int) -> list[int]:
    """``first``, twice that, and so on, and ``last`` in the end."""
    values = [first]
    while 2 * values[-1] < last:
        values.append(2 * values[-1])
    return [*values, last] if last > values[-1] else values
