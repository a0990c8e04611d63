"""Actions in a bounded Box from a deterministic policy: as they are, or with noise."""

from __future__ import annotations

from dataclasses import dataclass

from warpworld.environment import Array
from warpworld.policies.samplers.box import InBox
from warpworld.policies.samplers.sampler import KERNELS, SamplerContext


class DeterministicSampler(InBox):
    """Takes the policy's actions as they are.

    Args:
        context: names and places of the group's numbers.
    """

    source = KERNELS / "sample_box.cu"
    outputs_name = "means"

    def __init__(self, context: SamplerContext) -> None:
        super().__init__(context, "act_greedily")


@dataclass(frozen=True)
class Noise:
    """Noise on actions.

    Attributes:
        kind: "ou" (Ornstein-Uhlenbeck), or "normal".
        damping: of "ou": the part of the noise that is gone a step later.
        stddev: of the normal numbers.
        scale: name of the array () float32 that the noise is multiplied by.
        at_random: name of the array () bool that is true while actions are drawn uniformly instead.
    """

    kind: str
    damping: float
    stddev: float
    scale: str
    at_random: str


class NoisySampler(InBox):
    """Adds noise to the policy's actions, in units in which -1 and 1 are the Box's ends.

    Args:
        context: names and places of the group's numbers.
        noise: see above.
    """

    source = KERNELS / "explore_box.cu"
    outputs_name = "means"

    def __init__(self, context: SamplerContext, noise: Noise) -> None:
        self._noise = noise
        super().__init__(context, f"explore_{noise.kind}")

    def constants(self) -> dict[str, float]:
        """Add the noise's damping and deviation."""
        own = {"NOISE_DAMPING": float(self._noise.damping), "NOISE_STDDEV": float(self._noise.stddev)}
        return {**super().constants(), **own}

    def arrays(self) -> dict[str, str]:
        """Add ``box``, and of Ornstein-Uhlenbeck the state: the noise of each agent and dimension."""
        found = {**super().arrays(), "noise_scale": self._noise.scale, "at_random": self._noise.at_random}
        if self._noise.kind == "ou":
            group = self.context.group
            found["noise"] = f"noise_{group.name}"
            per_agent = (group.size, self._space.low.size)
            self.context.world.add(Array(found["noise"], "float32", per_agent, per="env", initial=0.0))
        return found
