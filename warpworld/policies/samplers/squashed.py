"""Actions in a bounded Box: tanh of a normal distribution in each dimension, scaled to the Box."""

from __future__ import annotations

from warpworld.policies.samplers.box import InBox
from warpworld.policies.samplers.sampler import KERNELS, SamplerContext


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
