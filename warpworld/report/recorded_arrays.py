"""The arrays of a recording: one column for each, over its frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warpworld.environment import observation_names
from warpworld.world import World

# What a page shows in other ways, or again.
LEFT_OUT = (
    *("rewards", "terminated", "truncated", "timestep", "final_observations"),
    *("agent_mask", "agent_terminated", "agent_truncated"),
)


@dataclass(frozen=True, eq=False)
class Column:
    """Array over the frames of a recording.

    Attributes:
        values: (frames, agents, *shape), or (frames, *shape) of an array per env.
        first: number of the first agent that it is of; None of an array per env.
        stride: from one of its agents to the next.
    """

    values: np.ndarray
    first: int | None
    stride: int = 1

    @property
    def numbers(self) -> range:
        """Numbers of the agents that the array holds, in its order."""
        first, count = self.first or 0, self.values.shape[1]
        return range(first, first + count * self.stride, self.stride)


def columns_of(
    world: World, frames: Sequence[Mapping[str, np.ndarray]], values: Sequence[np.ndarray]
) -> dict[str, Column]:
    """The columns of a recording: the env's and agents' arrays, ``value`` where a critic spoke, and ``alive``.

    Args:
        world: whose first env was recorded.
        frames: its arrays at each frame, by name; of the world's own that do not change by env none is kept.
        values: (num_agents,) float64 of each frame, NaN where unknown.
    """
    places = dict(_places(world))
    found = {}
    for name in frames[0]:
        per = world.data.array(name).per
        if name not in LEFT_OUT and per != "world":
            first, stride = (0, 1) if per == "agent" else places.get(name, (None, 1))
            found[name] = Column(np.stack([frame[name] for frame in frames]), first, stride)
    stacked = np.stack(values)
    if not np.isnan(stacked).all():
        found["value"] = Column(stacked, 0)
    if "agent_mask" in frames[0]:
        found["alive"] = Column(np.stack([_alive(frame) for frame in frames]), 0)
    return found


def _places(world: World) -> Iterator[tuple[str, tuple[int, int]]]:
    """The first agent of arrays that hold what one group sees or does, and the stride to the next."""
    for group in world.groups.values():
        actions = world.action_names(group.name).values()
        for name in (*actions, *observation_names(world.groups, group).values()):
            if world.data.array(name).per == "env":
                yield name, (group.first, group.stride)


def _alive(frame: Mapping[str, np.ndarray]) -> np.ndarray:
    """(num_agents,) bool: whether each agent takes part, and is still in after the step; all are at a start."""
    if frame["timestep"] == 0:
        return np.ones_like(frame["agent_mask"])
    alive = frame["agent_mask"]
    for name in ("agent_terminated", "agent_truncated"):
        alive = alive & ~frame[name] if name in frame else alive
    return alive
