"""Parameters of regions, drawn from a seed: the paper's values for US states are fitted to data that is not here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Memory:
    """Range of the time that unemployment remembers a change of strictness.

    Attributes:
        shortest: time constant, days.
        longest: likewise.
    """

    shortest: float
    longest: float

    def decay(self, filters: int) -> np.ndarray:
        """(filters,) float32: what is left of each filter after a day; time constants grow geometrically."""
        return np.exp(-1.0 / np.geomspace(self.shortest, self.longest, filters)).astype(np.float32)


MEMORY = Memory(30.0, 400.0)

# Lowest and highest. Infections by one infected over two weeks: where all is open, and where all is closed.
OPEN, CLOSED = (2.0, 3.0), (0.6, 0.9)
JOBLESS = (3.0, 6.0)  # percent, usually
LOST = (8.0, 16.0)  # percent of workers who lose their jobs when all that is open closes at once


@dataclass(frozen=True)
class Regions:
    """Tables with a row for each region, float32.

    Attributes:
        population: (regions,) shares of the nation's.
        contagion: (regions, 2) infections a day by one infected, all open and all closed.
        jobless: (regions, 1 + filters) percent without a response, and the filters' weights.
    """

    population: np.ndarray
    contagion: np.ndarray
    jobless: np.ndarray


def draw_regions(count: int, filters: int, levels: int, seed: int) -> Regions:
    """Regions that depend on the seed alone."""
    generator = np.random.default_rng(seed)
    size = generator.lognormal(0.0, 1.0, count)
    contagion = np.stack([generator.uniform(*OPEN, count), generator.uniform(*CLOSED, count)], 1) / 14.0
    parts = generator.dirichlet(np.ones(filters), count)
    weights = parts * generator.uniform(*LOST, (count, 1)) / (levels - 1)
    jobless = np.concatenate([generator.uniform(*JOBLESS, (count, 1)), weights], 1)
    tables = (size / size.sum(), contagion, jobless)
    return Regions(*(table.astype(np.float32) for table in tables))
