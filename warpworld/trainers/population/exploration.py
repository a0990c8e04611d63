"""Rules of population based training (Jaderberg et al. 2017, arXiv 1711.09846): who copies whom, and new settings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from warpworld.config import PopulationConfig
from warpworld.trainers.population.draws import Draws

ROUNDING = 1e-9  # 0.29 of 100 members are 29, and a float's product is a little less

Values = dict[str, float]
"""Settings of a member, by name."""


def ranked(returns: Sequence[float]) -> list[int]:
    """Members from the best to the worst; those without a return are left out, and of equal ones the first is first."""
    known = [member for member, value in enumerate(returns) if not math.isnan(value)]
    return sorted(known, key=lambda member: (-returns[member], member))


class Exploration:
    """Choice of who copies whom at a ranking, and of the settings that members get.

    Rankings are numbered from 1; 0 is the beginning. All draws depend on the seed, the ranking and the member alone.

    Args:
        population: ranges, factors and shares.
        seed: of the draws.
    """

    def __init__(self, population: PopulationConfig, seed: int) -> None:
        self._population, self._seed = population, seed

    def sources(self, returns: Sequence[float], ranking: int) -> dict[int, int]:
        """Members that copy another, each with the one that it copies (truncation selection).

        Of n members the worst and the best n * ``exploit``, rounded down and at least one, are set against each other.
        A member copies none that is not better.

        Args:
            returns: of each member; NaN of those without any episode, which neither copy nor are copied; negative
                infinity of those whose weights are lost.
            ranking: number of the ranking.
        """
        draws, order = Draws(self._seed, ranking), ranked(returns)
        count = min(max(1, int(self._population.exploit * len(returns) + ROUNDING)), len(order) // 2)
        best, worst = order[:count], order[len(order) - count :]
        drawn = {member: best[draws.below(count, member, "source")] for member in worst}
        return {member: source for member, source in drawn.items() if returns[source] > returns[member]}

    def first_values(self, member: int) -> Values:
        """Settings that a member begins with, drawn from their ranges."""
        draws = Draws(self._seed, 0)
        return {name: _drawn(ends, name, member, draws) for name, ends in self._population.settings.items()}

    def changed(self, copied: Mapping[str, float], member: int, ranking: int) -> Values:
        """Settings of a member that copied others: each multiplied by a factor within its range, or drawn anew."""
        found, population, draws = Values(), self._population, Draws(self._seed, ranking)
        for name, (low, high) in population.settings.items():
            if draws.uniform(member, f"{name} anew") < population.resample:
                found[name] = _drawn((low, high), name, member, draws)
            else:
                factor = population.perturb[draws.below(len(population.perturb), member, f"{name} factor")]
                found[name] = min(max(copied[name] * factor, low), high)
        return found


def _drawn(ends: tuple[float, float], name: str, member: int, draws: Draws) -> float:
    """A value from a range: uniform in its logarithm where both ends are above 0, else uniform."""
    low, high = ends
    share = draws.uniform(member, name)
    value = math.exp(math.log(low) + share * math.log(high / low)) if low > 0 else low + share * (high - low)
    return min(max(value, low), high)
