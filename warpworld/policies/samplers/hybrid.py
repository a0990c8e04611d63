"""Actions of several parts, a Dict or Tuple: choices of heads and numbers of Boxes, drawn in one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from warpworld.environment import Array, action_parts
from warpworld.policies.samplers.box import NO_NOISE, scaling_to
from warpworld.policies.samplers.choices import head_constants
from warpworld.policies.samplers.sampler import AT_RANDOM, KERNELS, Sampler, SamplerContext

if TYPE_CHECKING:
    from gymnasium.spaces import Box

NO_MASK = "no_action_mask"  # a placeholder, of a world that has no such array
_BYTES = 4  # of a choice, and of a number


class HybridSampler(Sampler):
    """Draws each head's choice and each Box's numbers, and puts them into the arrays of their parts.

    Deviations are those of each env's player, so that policies, scripts and random actions may share a group.

    Args:
        context: names and places of the group's numbers.
        kernel: of sample_hybrid.cu: "sample", "act" or "act_greedily".
        head_sizes: number of choices of each head, of all parts in their order.
        size: numbers of all Boxes.
    """

    source = KERNELS / "sample_hybrid.cu"
    outputs_name = "outputs"

    def __init__(self, context: SamplerContext, kernel: str, head_sizes: Sequence[int], size: int) -> None:
        self._heads, self._size = tuple(head_sizes), size
        self.masked = "action_mask" in context.world.data and bool(head_sizes)
        self._parts = action_parts(context.group.action)
        # the address and the stride of each choice, then of each number; filled once the store is sealed
        self._places = torch.zeros(len(self._heads) + size, 2, dtype=torch.int64, device=context.world.device)
        super().__init__(context, kernel)

    def constants(self) -> dict[str, float]:
        """Division of the outputs into heads and numbers."""
        of_heads = head_constants(self._heads, self.context.world, self.masked)
        return {**of_heads, "ACTION_SIZE": self._size, "IS_MASKED": self.masked}

    def scalars(self) -> dict[str, int]:
        """The address of the places at which actions lie."""
        return {"places": self._places.data_ptr()}

    def arrays(self) -> dict[str, str]:
        """Add ``head_sizes``, ``box`` and ``log_stds``, of which one that has no entry gets one that is not read."""
        world, group = self.context.world, self.context.group.name
        boxes: list[Box] = [part.space for part in self._parts if not part.heads]  # type: ignore[misc]
        scaling = np.concatenate([scaling_to(box) for box in boxes], 1) if boxes else np.zeros((4, 1), np.float32)
        heads, size = self._heads or (0,), max(self._size, 1)
        names = {name: f"{name}_{group}" for name in ("head_sizes", "box", "log_stds")}
        names["box"] = f"action_box_{group}"
        for array in (
            Array(names["head_sizes"], "int32", (len(heads),), per="world", initial=heads),
            Array(names["box"], "float32", scaling.shape, per="world", initial=scaling),
            Array(names["log_stds"], "float32", (size,), per="env", initial=0.0),
        ):
            world.add(array, kept="derived")
        if self.masked:
            return names
        if NO_MASK not in world.data:
            world.add(Array(NO_MASK, "bool", (1,), per="world", initial=True), kept="derived")
        return {**names, "action_mask": NO_MASK, "rollout_action_mask": NO_MASK}

    def take(self, distribution: Any, envs: slice = slice(None)) -> None:
        """Take the deviations of the player of some envs; a script's actions are meant as they are."""
        log_stds = self.context.world[f"log_stds_{self.context.group.name}"][envs]
        if distribution is AT_RANDOM:
            log_stds.fill_(np.inf)
        elif distribution is None or not self._size:
            log_stds.fill_(NO_NOISE)
        else:
            log_stds.copy_(distribution.log_std.expand_as(log_stds))

    def draw_at_random(self) -> None:
        """Each allowed choice equally likely; numbers uniform between finite bounds, else standard normal."""
        self.outputs.zero_()
        self.take(AT_RANDOM)
        assert self.draw is not None
        self.draw()

    def _bind(self) -> None:
        self._places.copy_(torch.tensor(self._addresses(), dtype=torch.int64))
        super()._bind()

    def _addresses(self) -> list[tuple[int, int]]:
        """Address and stride in bytes of each choice, then of each number."""
        names = self.context.world.action_names(self.context.group.name)
        found: tuple[list[tuple[int, int]], list[tuple[int, int]]] = [], []
        for part in self._parts:
            first = self.context.world.data.pointer(names[part.key])
            found[0 if part.heads else 1].extend(
                (first + _BYTES * i, _BYTES * part.numbers) for i in range(part.numbers)
            )
        return [*found[0], *found[1]]
