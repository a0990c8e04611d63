"""Two levels in an epidemic: regions choose how strict to be, a government how much it subsidises them.

Source: the COVID-19 simulation of Trott, Srinivasa, van der Wal, Haneuse and Zheng: "Building a Foundation for
Data-Driven, Interpretable, and Robust Policy Design using the AI Economist", 2021 (arXiv:2108.02904), which WarpDrive
steps on GPUs. Intervals, levels, subsidies and the delay are those of its published configuration and code; rates of
recovery and death are ours, and what it fitted to each US state is drawn from a seed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Drawing, Mark, Rectangles, Text
from warpworld.environment import MAX_THREADS_PER_ENV, Array, Environment, Group, Range, register
from warpworld.envs.epidemic.regions import MEMORY, draw_regions

Share = Annotated[float, Range(0, 1)]
NotNegative = Annotated[float, Range(0)]


@register("epidemic")
class Epidemic(Environment):
    """Regions trade deaths for jobs in an epidemic; a government, which chooses less often, subsidises them.

    Actions: 0 keeps what is; a region's k-th other action sets its strictness to k, the government's its subsidy to
    the k-th level, of which the first is none. A day outside the interval allows 0 alone.
    """

    source = "epidemic.cu"
    compile_time = ("levels", "subsidies", "delay", "filters")
    per_env = ("transmission", "death_rate")

    @dataclass(frozen=True)
    class Params:
        """Parameters of epidemic."""

        regions: Annotated[int, Range(1, MAX_THREADS_PER_ENV - 1)] = 51  # each an agent; there is always one government
        region_seed: Annotated[int, Range(0, 2**31 - 1)] = 0  # of what tells regions apart
        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 540  # days
        region_interval: Annotated[int, Range(1, 2**31 - 1)] = 28  # days between a region's choices
        government_interval: Annotated[int, Range(1, 2**31 - 1)] = 90  # days between the government's choices
        levels: Annotated[int, Range(2, 100)] = 10  # of strictness
        subsidies: Annotated[int, Range(2, 100)] = 20  # levels of the subsidy
        delay: Annotated[int, Range(1, 1000)] = 29  # days until strictness slows infections
        filters: Annotated[int, Range(1, 16)] = 5  # of unemployment's response, with time constants of 30 to 400 days
        transmission: NotNegative = 1.0  # factor of all rates of infection
        recovery_rate: Share = 1 / 14  # share of the infected that recovers or dies each day
        death_rate: Share = 0.02  # share of them that dies
        most_infected: Share = 0.001  # share of a region at the start, at most
        too_sick_to_work: Share = 0.1  # share of the infected
        largest_subsidy: NotNegative = 0.307  # of the daily output of a person: 20,000 of 65,300 dollars a year
        subsidy_interest: NotNegative = 0.03  # what the government loses of each subsidy
        health_weight: Share = 0.5  # of deaths in rewards, beside output
        death_cost: NotNegative = 2000.0  # of a death, in days of a person's output

    def groups(self) -> Sequence[Group]:
        """The regions, then the government; the first five numbers that they see are the same."""
        p = self.params
        strict = ("keep", *(f"strictness {level}" for level in range(1, p.levels + 1)))
        paid = ("keep", *(f"subsidy {level}" for level in range(p.subsidies)))
        own: Any = {"own_arrays": True}
        return [
            Group("region", p.regions, Box(0.0, 1.0, (13,)), Discrete(1 + p.levels), action_names=strict, **own),
            Group("government", 1, Box(0.0, 1.0, (9,)), Discrete(1 + p.subsidies), action_names=paid, **own),
        ]

    def arrays(self) -> Sequence[Array]:
        """The people, the policies, the response of unemployment, and what tells regions apart."""
        p = self.params
        tables = draw_regions(p.regions, p.filters, p.levels, p.region_seed)
        return [
            Array("people", "float32", (4,), bounds=(-1e-6, 1.001), doc="susceptible, infected, recovered, dead"),
            Array("strictness", "int32", bounds=(0, p.levels), doc="1 .. levels; 0 for the government"),
            Array("history", "int32", (p.delay,), bounds=(0, p.levels), doc="strictness of the last days, a ring"),
            Array("response", "float32", (p.filters,), doc="to changes of strictness, each filter's"),
            Array("unemployment", "float32", bounds=(0, 100), doc="percent of workers"),
            Array("subsidy", "int32", per="env", bounds=(0, p.subsidies - 1), doc="its level"),
            *(
                Array(name, "float32", table.shape, per="world", initial=table, read_only=True, doc=doc)
                for name, table, doc in (
                    ("population", tables.population, "shares of the nation's"),
                    ("contagion", tables.contagion, "infections a day by one infected, all open and all closed"),
                    ("jobless", tables.jobless, "percent without a response, and the filters' weights"),
                    ("decay", MEMORY.decay(p.filters), "of each filter in a day"),
                )
            ),
        ]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """A column for each region: its people from the dead upwards; strictness above, unemployment below."""
        count = self.params.regions
        x, people = np.arange(count, dtype=float), arrays["people"][:count].astype(float)
        marks: list[Mark] = []
        bottom = np.zeros(count)
        for part, colour in ((3, "ink"), (1, "alarm"), (2, "muted"), (0, "grid")):
            marks.append(Rectangles(x, bottom, 0.9, people[:, part] * count / 2, fill=colour))
            bottom = bottom + people[:, part] * count / 2
        strict = arrays["strictness"][:count] / self.params.levels
        marks.append(Rectangles(x, count / 2 + 0.5, 0.9, strict * count / 6, fill="region"))
        jobless = arrays["unemployment"][:count] / 100.0 * count / 2
        marks.append(Rectangles(x, -0.5 - jobless, 0.9, jobless, fill="government"))
        subsidy = f"subsidy {int(arrays['subsidy'])} of {self.params.subsidies - 1}"
        marks.append(Text(0.0, count * 0.7 + 0.5, subsidy, size=max(count / 20, 0.5), align="left"))
        return Drawing((-0.5, -count / 4 - 1.0, count + 0.5, count * 0.8 + 1.0), marks, seconds=0.05)
