"""An episode from the arrays of one env that were kept step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from warpworld.environment import Group, mapped, observation_names
from warpworld.trainers.from_python import group_arrays
from warpworld.trainers.from_python.episodes import Episode
from warpworld.world import World


def episode_of(world: World, steps: Sequence[Mapping[str, np.ndarray]]) -> Episode:
    """Make an episode of what the store of one env held.

    Args:
        world: of the env.
        steps: arrays of the env by their names in the store, at the episode's start and after each of its T steps;
            those after the last step are of the ended episode.

    Returns:
        Its T steps; ``action_mask`` and ``agent_mask`` where the env has them.
    """
    seen: Any = _StepsAsEnvs(world, steps)
    made: Any = _StepsAsEnvs(world, steps[1:])
    before: Any = _StepsAsEnvs(world, steps[:-1])

    def by_group(read: Callable[[Group], Any]) -> dict[str, Any]:
        found = {name: read(group) for name, group in world.groups.items()}
        return {name: mapped(Tensor.numpy, part) for name, part in found.items() if part is not None}

    counted = by_group(lambda group: made["agent_mask"][:, group.slice]) if "agent_mask" in made else {}
    rewards = by_group(lambda group: made["rewards"][:, group.slice])
    return Episode(
        by_group(lambda group: group_arrays.observations(seen, group)),
        by_group(lambda group: group_arrays.actions(made, group)),
        {name: np.where(counted.get(name, True), part, np.float32(0)) for name, part in rewards.items()},
        by_group(lambda group: group_arrays.ends(made, group)[0]),
        by_group(lambda group: group_arrays.ends(made, group)[1]),
        counted,
        by_group(lambda group: group_arrays.action_mask(before, group)),
    )


class _StepsAsEnvs:
    """Stand-in for a world whose envs are the steps of one env, as ``group_arrays`` reads it."""

    def __init__(self, world: World, steps: Sequence[Mapping[str, np.ndarray]]) -> None:
        self._world, self._steps, self.groups, self.num_envs = world, steps, world.groups, len(steps)

    def __contains__(self, name: str) -> bool:
        return name in self._world

    def __getitem__(self, name: str) -> Tensor:
        if not self._steps:
            return self._world[name][:0].cpu()
        return torch.from_numpy(np.stack([step[name] for step in self._steps]))

    def observations(self, group: str, final: bool = False) -> Any:
        names = observation_names(self.groups, self.groups[group])
        parts = self._parts(group, names)
        return parts.get("", parts)

    def actions(self, group: str) -> dict[str, Tensor]:
        return self._parts(group, self._world.action_names(group))

    def _parts(self, group: str, names: Mapping[str, str]) -> dict[str, Tensor]:
        is_shared = {name: self._world.data.array(name).per == "agent" for name in names.values()}
        return {
            key: self[name][:, self.groups[group].slice] if is_shared[name] else self[name]
            for key, name in names.items()
        }
