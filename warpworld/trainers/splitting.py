"""Episodes split by a parameter that differs between envs."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from warpworld.errors import ConfigError, suggest
from warpworld.world import World

MOST_VALUES = 8  # beyond, values are put together
BINS = 4


class EpisodeValues:
    """The value of a parameter per env in each episode.

    Args:
        world: an unsealed world.
        name: of the parameter, one of the environment's ``per_env``.
        rounds: episodes of each env that count.

    Raises:
        ConfigError: there is no such parameter.
    """

    def __init__(self, world: World, name: str, rounds: int) -> None:
        known = world.environment.per_env
        if name not in known:
            raise ConfigError(
                f"by='{name}': expected a parameter of {world.environment.name} that each env has its own value of."
                f"{suggest(name, known)} Known: {', '.join(known) or 'none'}"
            )
        self._world, self.name = world, name
        self._values = torch.zeros(world.num_envs, rounds + 1, dtype=torch.float64)

    def take(self, episode: Tensor) -> None:
        """Take in the values before a step.

        Args:
            episode: (num_envs,) int64, which episode of its env the step is of.
        """
        envs = torch.arange(self._world.num_envs)
        self._values[envs, episode] = self._world[self.name].cpu().double()

    def parts(self, begun: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Split the episodes that were begun, (num_envs, rounds) bool.

        Yields:
            A label, such as "gravity=9.8" or "gravity=8 to 9", and the episodes of the part, (num_envs, rounds) bool.
            Parts are of one value each, or of ranges that are equally wide where there are more than eight values.
        """
        values = self._values[:, :-1].contiguous()
        distinct = values[begun].unique()
        if len(distinct) <= MOST_VALUES:
            for value in distinct.tolist():
                yield f"{self.name}={value:.4g}", begun & (values == value)
            return
        edges = torch.linspace(float(distinct[0]), float(distinct[-1]), BINS + 1, dtype=torch.float64)
        part = torch.bucketize(values, edges[1:-1], right=True)
        for index in range(BINS):
            low, high = edges[index : index + 2].tolist()
            yield f"{self.name}={low:.4g} to {high:.4g}", begun & (part == index)
