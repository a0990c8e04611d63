"""Base class of samplers: a kernel file of the package bound to the arrays of one group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from torch import Tensor

from warpworld.environment import Group, Kernel
from warpworld.managers import RunKernel

if TYPE_CHECKING:
    from warpworld.world import World

KERNELS = Path(__file__).resolve().parent  # the folder of the samplers' kernels
WARP = 32
WORDS_OF_LANE, MOST_LANES = 4, 256  # that an env's lanes copy each, and of an env, where they run side by side


@dataclass(frozen=True)
class SamplerContext:
    """A group's place in the store, for the kernel that acts for it.

    Attributes:
        world: an unsealed world.
        group: the agents.
        index: the kernel's number in its world, which keeps its random numbers apart from other kernels'.
        outputs: name of the array (num_envs, size, num_outputs) float32 that a policy's outputs are written to.
        observations: name of the array (num_envs, agents, size) float32 or uint8 that holds what the group observes.
        observed_agents: agents of an env in that array.
        first_observed: place of the group's first agent in it.
        observation_size: entries of one agent's observation.
        recorded: arrays that the kernel records the step in, by the names that its parameters have; None records
            nothing.
    """

    world: World
    group: Group
    index: int
    outputs: str
    observations: str
    observed_agents: int
    first_observed: int
    observation_size: int
    recorded: Mapping[str, str] | None = None


AT_RANDOM = "at random"  # stands for the distribution of a player that has none and acts at random

SamplerMaker = Callable[[SamplerContext, str], "Sampler"]


class Sampler(ABC):
    """Draws one group's actions from its policy's outputs and writes them into the store.

    The kernel file has the kernels ``sample``, which draws and records, its variant ``sample_bytes`` for observations
    of bytes, ``act``, which draws, and ``act_greedily``, which takes the likeliest action. A subclass names the file
    and adds constants, arrays and kernels of its own.

    Attributes:
        source: the kernel file.
        outputs_name: the name of the policy's outputs in its kernels.
        masked: whether it obeys an ``action_mask``.
        kernel: which kernel draws: "sample", "act" or "act_greedily".
        settings: the constants that the kernels are compiled with.
        bound: the arrays that their parameters are bound to, by the parameters' names, where these differ.
        draw: writes the actions; None before the world is sealed.

    Args:
        context: names and places of the group's arrays.
        kernel: which kernel draws: "sample", "act" or "act_greedily".
    """

    source: ClassVar[Path]
    outputs_name: ClassVar[str]
    masked: bool = False

    def __init__(self, context: SamplerContext, kernel: str) -> None:
        self.context, self.kernel = context, kernel
        self.draw: Callable[[], None] | None = None
        # constants and arrays of the kernel
        world, group = context.world, context.group
        actions, first = world.action_array(group.name)
        settings: dict[str, float] = {
            "NUM_AGENTS": group.size,
            "WORLD_AGENTS": world.num_agents,
            "AGENT_FIRST": group.first,
            "AGENT_STRIDE": group.stride,
            "ACTION_AGENTS": world.num_agents if actions == "actions" else group.size,
            "ACTION_FIRST": first,
            "OBSERVATION_AGENTS": context.observed_agents,
            "OBSERVATION_FIRST": context.first_observed,
            "OBSERVATION_SIZE": context.observation_size,
        }
        bound = {
            "observations": context.observations,
            "actions": actions,
            self.outputs_name: context.outputs,
            **(context.recorded or {}),
        }
        # the kernel, bound once the store is sealed
        self.settings, self.bound = settings | self.constants(), bound | self.arrays()
        scalars = self.scalars()
        self._functions = world.kernels(self.source, self.settings, scalars, aliases=self.bound, writable={actions})
        lanes = self._lanes()
        self._functions.build([Kernel(name, lanes) for name in self._functions.signatures])
        world.when_sealed(self._bind)

    def _lanes(self) -> tuple[int, int] | None:
        """Fewest and most threads of an env: more than agents where these would be slow to record long rows alone."""
        context, agents = self.context, self.context.group.size
        itemsize = np.dtype(context.world.data.array(context.observations).dtype).itemsize
        words = agents * context.observation_size * itemsize // 4
        lanes = min(-(-words // (WORDS_OF_LANE * WARP)) * WARP, MOST_LANES)
        return (agents, lanes) if self.kernel == "sample" and words >= 2 * WARP and lanes > agents else None

    @abstractmethod
    def constants(self) -> dict[str, float]:
        """Constants with which the kernels are compiled, besides those of every sampler."""

    def arrays(self) -> dict[str, str]:
        """Add arrays of its own to the world: their names, by the kernels' parameters."""
        return {}

    def scalars(self) -> dict[str, int]:
        """Numbers that parameters passed by value may name."""
        return {}

    def kernel_name(self) -> str:
        """The kernel that draws; its variant for bytes if the group's observations are bytes."""
        is_bytes = self.context.world.data.array(self.context.observations).dtype == "uint8"
        return "sample_bytes" if self.kernel == "sample" and is_bytes else self.kernel

    def take(self, distribution: Any, envs: slice = slice(None)) -> None:  # noqa: B027 (most say nothing else)
        """Take what a player's distribution has besides its outputs, before each ``draw``.

        Args:
            distribution: of a policy; None of a script, or ``AT_RANDOM``.
            envs: in which it plays; all of them, unless players with other deviations may share the group.
        """

    @abstractmethod
    def draw_at_random(self) -> None:
        """Draw without a policy: uniformly, if that is defined."""

    def _bind(self) -> None:
        self.draw = self.program(self.kernel_name())

    @cached_property
    def draw_active(self) -> Callable[[], None]:
        """Writes the actions of the envs that the world's ``active`` marks, and of no other; in the sealed store."""
        step = self._functions.step(self.kernel_name(), self.context.index, active_only=True)
        return self.context.world.program([step])

    def program(self, kernel: str) -> Callable[[], None]:
        """Bind one of the file's kernels to the sealed store."""
        return self.context.world.program([self._functions.step(kernel, self.context.index)])

    def step(self, at_random: bool = False) -> RunKernel:
        """The kernel that draws, as a step of a world's program; outputs are zeros where it is to draw at random."""
        return self._functions.step(self.random_kernel() if at_random else self.kernel_name(), self.context.index)

    def random_kernel(self) -> str:
        """The kernel that draws without a policy."""
        return self.kernel_name()

    @property
    def outputs(self) -> Tensor:
        """The policy's outputs, (num_envs, size, num_outputs) float32, in the sealed store."""
        return self.context.world[self.context.outputs]
