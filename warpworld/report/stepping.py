"""One env, watched step by step: what each of its arrays held, before an ended env was reset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.errors import StoreError, suggest
from warpworld.report.values import states_before, unknown_values, values_of
from warpworld.world import BOOKKEEPING, ON_REQUEST, World, reserved_arrays

if TYPE_CHECKING:
    from warpworld.config import RunConfig
    from warpworld.trainers.collecting import Actor

OF_STEPS = {"rewards", "terminated", "truncated", "agent_terminated", "agent_truncated"}  # 0 before the first one


class FrameArrays(dict[str, np.ndarray]):
    """Arrays of one env at one step, by name; an unknown name is an error that lists them."""

    def __missing__(self, name: str) -> np.ndarray:
        """Raise a StoreError that names the nearest array."""
        raise StoreError(f"draw(): no array '{name}'.{suggest(str(name), self)} Arrays: {', '.join(self)}")


@dataclass(frozen=True, eq=False)
class Step:
    """A frame that is not drawn yet.

    Attributes:
        episode: number of the episode, from 1.
        arrays: of the env, by name.
        rewards: (num_agents,) float32, of this step; 0 where they do not count.
        returns: (num_agents,) float64, rewards of this episode up to here.
        end: "terminated" or "truncated" in an episode's last frame, else "".
        values: (num_agents,) float64, what policies expect from here on; set when agents act.
    """

    episode: int
    arrays: FrameArrays
    rewards: np.ndarray
    returns: np.ndarray
    end: str
    values: np.ndarray


class Stepping:
    """Steps a world of one env, and reads each step.

    Args:
        world: unsealed, with one env.
        actors: of its groups, in this world.
        config: knows which policies learn values on a scale of their own; None leaves the values out.
    """

    def __init__(self, world: World, actors: Sequence[Actor], config: RunConfig | None = None) -> None:
        self._world, self._actors, self._config = world, actors, config
        self._watch = _Watch(world)

    def start(self, episode: int) -> Step:
        """The start of an episode, which the env is at."""
        nothing = np.zeros(self._world.num_agents)
        return Step(episode, self._watch.of_start(), nothing, nothing, "", unknown_values(self._world))

    def after(self, last: Step, decide: Callable[[], None] | None = None) -> Step:
        """Let all agents act, and step the env.

        Args:
            last: the frame before.
            decide: is called between the two; it may write other actions of some agents.
        """
        # actions, and values of the states that they are chosen in
        before = states_before(self._actors) if self._config else []
        for actor in self._actors:
            actor.act()
        if self._config:
            last.values[:] = values_of(self._world, self._actors, self._config, before)
        if decide is not None:
            decide()
        # the step
        self._world.step()
        arrays = self._watch.of_step()
        arrays["timestep"] = last.arrays["timestep"] + 1  # of an ended env the world has set it back already
        rewards = arrays["rewards"]
        if "agent_mask" in arrays:
            rewards = np.where(arrays["agent_mask"], rewards, 0.0)
        # its frame
        end = "terminated" if arrays["terminated"] else "truncated" if arrays["truncated"] else ""
        return Step(last.episode, arrays, rewards, last.returns + rewards, end, unknown_values(self._world))


class _Watch:
    """Reads one env's arrays, of a step or as they stand now."""

    def __init__(self, world: World) -> None:
        """Take an unsealed world."""
        self._world = world
        declared = [*reserved_arrays(world.groups, world.constants), *world.environment.arrays()]
        names = [array.name for array in declared if array.name not in BOOKKEEPING]
        names += [name for name in ON_REQUEST if name in world.data]
        self._copies = world.recorded_arrays(names)
        self._constant = {array.name for array in declared if array.per == "world" and array.read_only}
        self._read_once: dict[str, np.ndarray] = {}

    def of_step(self) -> FrameArrays:
        """Arrays as they were after the last step's phases, before an ended env was reset."""
        return self._read({name: copy and self._world[copy][0] for name, copy in self._copies.items()})

    def of_start(self) -> FrameArrays:
        """Arrays at the start of an episode, before its first step."""
        arrays = self._read({name: copy and self._world[name][0] for name, copy in self._copies.items()})
        for name in OF_STEPS & arrays.keys():
            arrays[name] = np.zeros_like(arrays[name])
        return arrays

    def _read(self, views: Mapping[str, Any]) -> FrameArrays:
        """Copies of the views; where there is none, of the world's own array. What nothing changes is copied once."""
        found = FrameArrays()
        for name, view in views.items():
            if name not in self._read_once:
                copied = (self._world[name] if view is None else view).cpu().numpy().copy()
                if name in self._constant:
                    self._read_once[name] = copied
            found[name] = self._read_once.get(name, copied)
        return found
