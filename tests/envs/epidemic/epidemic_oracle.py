"""The epidemic's equations in float64: regions as they are written down in the paper, one env, a day at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from warpworld.envs.epidemic.epidemic import Epidemic
from warpworld.envs.epidemic.regions import MEMORY, Regions


@dataclass
class Nation:
    """All regions over all days so far; entry 0 is the day before the first.

    Attributes:
        p: the parameters.
        tables: what tells regions apart.
        people: (regions, 4) susceptible, infected, recovered, dead.
        strictness: of each day (regions,).
        subsidy: its level.
    """

    p: Epidemic.Params
    tables: Regions
    people: np.ndarray
    strictness: list[np.ndarray] = field(default_factory=list)
    subsidy: int = 0

    def __post_init__(self) -> None:
        self.strictness = [np.ones(self.p.regions)]

    def unemployment(self) -> np.ndarray:
        """(regions,) percent: exponential filters over every change of strictness so far."""
        times = np.geomspace(MEMORY.shortest, MEMORY.longest, self.p.filters)
        changes = np.diff(np.stack(self.strictness), axis=0)[::-1]  # today's first
        age = np.arange(len(changes))
        kernels = np.exp(-age[:, None] / times)  # (days, filters)
        signal = ((changes.T @ kernels) * self.tables.jobless[:, 1:]).sum(1)
        return self.tables.jobless[:, 0] + np.log1p(np.exp(signal))

    def day(self, chosen: np.ndarray, subsidy: int) -> np.ndarray:
        """One day; returns rewards (regions + 1,)."""
        p, today = self.p, len(self.strictness) - 1
        was = self.strictness[-1]
        self.strictness.append(np.where((chosen > 0) & (today % p.region_interval == 0), chosen, was))
        if subsidy > 0 and today % p.government_interval == 0:
            self.subsidy = subsidy - 1
        then = self.strictness[max(today + 1 - p.delay, 0)]
        ease, stop = self.tables.contagion.T
        rate = p.transmission * (ease + (stop - ease) * (then - 1) / (p.levels - 1))
        s, i, r, d = self.people.T
        new, out = rate * s * i, p.recovery_rate * i
        self.people = np.stack([s - new, i + new - out, r + (1 - p.death_rate) * out, d + p.death_rate * out], axis=1)
        return self._rewards(p.death_rate * out)

    def _rewards(self, died: np.ndarray) -> np.ndarray:
        p, usual = self.p, 1 - (self.tables.jobless[:, 0] + np.log(2.0)) / 100
        working = 1 - self.unemployment() / 100 - p.too_sick_to_work * self.people[:, 1] - self.people[:, 3]
        output, subsidy = working / usual, p.largest_subsidy * self.subsidy / (p.subsidies - 1)
        has = np.append(output + subsidy, self.tables.population @ output - p.subsidy_interest * subsidy)
        lost = np.append(died, self.tables.population @ died)
        return (1 - p.health_weight) * (1 - 1 / has) - p.health_weight * p.death_cost * lost
