"""Actions in a Box: numbers of a normal distribution, or tanh of them, scaled to the Box and within its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box

from warpworld.environment import Array
from warpworld.policies.samplers.sampler import AT_RANDOM, KERNELS, Sampler, SamplerContext

NO_NOISE = -20.0  # logarithm of a deviation that no float32 action shows


class InBox(Sampler):
    """Base class of samplers whose actions lie in a Box."""

    def constants(self) -> dict[str, float]:
        """The number of dimensions, those of a Box of several axes in one row."""
        return {"ACTION_SIZE": self._space.low.size}

    def arrays(self) -> dict[str, str]:
        """Add ``box``, which scales what was drawn."""
        name, scaling = f"action_box_{self.context.group.name}", scaling_to(self._space)
        self.context.world.add(Array(name, "float32", scaling.shape, per="world", initial=scaling), kept="derived")
        return {"box": name}

    @property
    def _space(self) -> Box:
        space = self.context.group.action
        assert isinstance(space, Box)
        return space

    def draw_at_random(self) -> None:
        """Uniformly between finite bounds, else from the standard normal distribution."""
        self._draw_at_random()

    def random_kernel(self) -> str:
        """The one that needs no means."""
        return "act_at_random"

    def _bind(self) -> None:
        super()._bind()
        self._draw_at_random = self.program(self.random_kernel())


class BoxSampler(InBox):
    """Draws each dimension from a normal distribution around the policy's mean."""

    source = KERNELS / "sample_box.cu"
    outputs_name = "means"

    def arrays(self) -> dict[str, str]:
        """Add ``log_stds`` too."""
        name = f"log_stds_{self.context.group.name}"
        self.context.world.add(
            Array(name, "float32", (self._space.low.size,), per="world", initial=0.0), kept="derived"
        )
        return {**super().arrays(), "log_stds": name}

    def take(self, distribution: Any, envs: slice = slice(None)) -> None:
        """Take the deviations; a script's actions are meant as they are."""
        if distribution is AT_RANDOM:
            return  # ``draw_at_random`` needs none
        log_stds = self.context.world[f"log_stds_{self.context.group.name}"]
        if distribution is None:
            log_stds.fill_(NO_NOISE)
        else:
            log_stds.copy_(distribution.log_std)


class SquashedSampler(InBox):
    """Draws each dimension from a squashed normal distribution around the policy's mean.

    Args:
        context: names and places of the group's numbers.
        kernel: of sample_squashed.cu: "act", "act_greedily", or "explore", which obeys ``at_random``.
        at_random: name of the array () bool that is true while actions are drawn uniformly instead.
    """

    source = KERNELS / "sample_squashed.cu"
    outputs_name = "outputs"

    def __init__(self, context: SamplerContext, kernel: str, at_random: str | None = None) -> None:
        self._at_random = at_random
        super().__init__(context, kernel)

    def arrays(self) -> dict[str, str]:
        """Add ``box``."""
        return super().arrays() | ({"at_random": self._at_random} if self._at_random else {})


def scaling_to(space: Box) -> np.ndarray:
    """Scaling from a policy's draws to a Box's actions: (4, size) float32, rows centre, scale, low and high.

    An action is ``centre + scale * drawn``, cut off at low and high. -1 and 1 lead to the ends of a bounded dimension;
    where a bound is infinite, centre is 0 and scale 1.
    """
    low, high = space.low.ravel().astype(np.float64), space.high.ravel().astype(np.float64)
    bounded = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        centre, scale = np.where(bounded, (low + high) / 2, 0.0), np.where(bounded, (high - low) / 2, 1.0)
    return np.stack([centre, scale, low, high]).astype(np.float32)
