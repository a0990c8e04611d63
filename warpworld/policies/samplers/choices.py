"""Discrete, MultiDiscrete and MultiBinary actions: one choice per head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpworld.environment import Array
from warpworld.policies.samplers.sampler import KERNELS, Sampler, SamplerContext

if TYPE_CHECKING:
    from warpworld.world import World


def head_constants(heads: Sequence[int], world: World, masked: bool) -> dict[str, float]:
    """Constants by which kernels divide logits into heads.

    Args:
        heads: number of choices of each.
        world: whose ``action_mask`` is read.
        masked: whether it is.
    """
    return {
        "NUM_HEADS": len(heads),
        "LOGITS": sum(heads),
        "HEAD_SIZE": heads[0] if len(set(heads)) == 1 else 0,
        "MASK_SIZE": world.data.array("action_mask").shape[0] if masked else 1,
    }


class ChoiceSampler(Sampler):
    """Draws each head's choice from its logits; where the world has an ``action_mask``, forbidden choices never.

    Args:
        context: names and places of the group's numbers.
        kernel: of sample.cu: "sample", "act" or "act_greedily".
        head_sizes: number of choices of each head.
    """

    source = KERNELS / "sample.cu"
    outputs_name = "logits"

    def __init__(self, context: SamplerContext, kernel: str, head_sizes: Sequence[int]) -> None:
        self._heads = tuple(head_sizes)
        self.masked = "action_mask" in context.world.data
        super().__init__(context, kernel)

    def constants(self) -> dict[str, float]:
        """Division of the logits into heads."""
        return head_constants(self._heads, self.context.world, self.masked)

    def arrays(self) -> dict[str, str]:
        """Add ``head_sizes``."""
        name = f"head_sizes_{self.context.group.name}"
        self.context.world.add(
            Array(name, "int32", (len(self._heads),), per="world", initial=self._heads), kept="derived"
        )
        return {"head_sizes": name}

    def kernel_name(self) -> str:
        """The variant that reads ``action_mask``, where there is one."""
        return f"{super().kernel_name()}_masked" if self.masked else super().kernel_name()

    def draw_at_random(self) -> None:
        """Draw actions in which each allowed choice of a head is equally likely."""
        self.outputs.zero_()
        assert self.draw is not None
        self.draw()
