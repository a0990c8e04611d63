"""Steps of a world on the host, group by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from warpworld.environment import mapped
from warpworld.errors import StoreError
from warpworld.trainers.from_python.group_arrays import action_mask, actions, ends, observations
from warpworld.world import World


class StepRecorder:
    """Copies a world's arrays to the host, group by group, in the shapes of their spaces.

    Args:
        world: any.
        frames: envs to paint before each step.

    Raises:
        StoreError: the world's ``agent_mask`` cannot be recorded any more.
    """

    def __init__(self, world: World, frames: Sequence[int]) -> None:
        self._world, self._frames, self._agent_mask = world, list(frames), _agent_mask(world)

    def before(self) -> dict[str, Any]:
        """Observations and action masks before a step."""
        world, found = self._world, dict[str, Any]()
        found["observations"] = self._by_group(lambda group: observations(world, group))
        if "action_mask" in world:
            masks = {name: action_mask(world, group) for name, group in world.groups.items()}
            found["action_mask"] = {name: _on_host(mask) for name, mask in masks.items() if mask is not None}
        if self._frames:
            from warpworld.adapters import frame

            found["frames"] = np.stack([frame(world, env) for env in self._frames])
        return found

    def actions(self) -> dict[str, Any]:
        """Actions of a step."""
        return {"actions": self._by_group(lambda group: actions(self._world, group))}

    def after(self) -> dict[str, Any]:
        """Rewards and ends after a step."""
        world = self._world
        found = {
            "rewards": self._by_group(lambda group: world["rewards"][:, group.slice]),
            "terminated": self._by_group(lambda group: ends(world, group)[0]),
            "truncated": self._by_group(lambda group: ends(world, group)[1]),
        }
        if self._agent_mask is not None:
            found["agent_mask"] = self._by_group(lambda group: world[self._agent_mask][:, group.slice])
        return found

    def final(self) -> dict[str, Any]:
        """Observations that each env's latest episode ended with, of a world with ``final_observations``."""
        return self._by_group(lambda group: observations(self._world, group, final=True))

    def _by_group(self, read: Any) -> dict[str, Any]:
        return {name: _on_host(read(group)) for name, group in self._world.groups.items()}


def _agent_mask(world: World) -> str | None:
    """The array that marks after a step whose rows count in it; recorded, where a reset may write it in the step."""
    if "agent_mask" not in world:
        return None
    if world.autoreset == "disabled":
        return "agent_mask"
    if world.data.sealed and "agent_mask_of_step" not in world:
        raise StoreError("rollout(): the world has an agent_mask, and was reset before; make a new one for rollouts")
    return world.recorded("agent_mask")


def _on_host(values: Any) -> Any:
    return mapped(lambda part: part.cpu().numpy().copy(), values)


def stacked(steps: Sequence[Any]) -> Any:
    """Arrays of each step, in dicts of one shape -> such a dict of arrays (steps, ...)."""
    if isinstance(steps[0], Mapping):
        return {key: stacked([step[key] for step in steps]) for key in steps[0]}
    if isinstance(steps[0], tuple):
        return tuple(stacked(parts) for parts in zip(*steps, strict=True))
    return np.stack(steps)
