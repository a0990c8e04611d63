"""Random actions on the host, drawn for all envs at once, so that worlds of some of these envs get the same."""

from __future__ import annotations

import numpy as np

from warpworld.environment import ActionPart, action_parts
from warpworld.world.world import World


class RandomActions:
    """Draws actions from each group's space.

    Args:
        world: whose groups they are for.
        seed: of the draws.
    """

    def __init__(self, world: World, seed: int) -> None:
        self._world, self._generator = world, np.random.default_rng(seed)
        self._drawn: dict[str, dict[str, np.ndarray]] = {}  # by group, and by the keys of an action's parts

    def draw(self) -> None:
        """Draw for a step of every env, among the actions that an ``action_mask`` leaves."""
        world = self._world
        for group in world.groups.values():
            shape = (world.num_envs, group.size)
            mask = world.data.numpy("action_mask")[:, group.slice] if "action_mask" in world else None
            drawn, first = {}, 0
            for part in action_parts(group.action):
                own = None if mask is None else mask[..., first : first + sum(part.heads)]
                drawn[part.key] = self._among(part.heads, shape, own) if part.heads else self._within(part, shape)
                first += sum(part.heads)
            self._drawn[group.name] = drawn

    def put(self, world: World, envs: slice) -> None:
        """Put the actions of some envs into the store of a world that has these envs."""
        import torch

        for group in world.groups.values():
            for key, stored in world.actions(group.name).items():
                stored.copy_(torch.from_numpy(self._drawn[group.name][key][envs]))

    def _within(self, part: ActionPart, shape: tuple[int, int]) -> np.ndarray:
        """Uniform between a box's limits, normal where it has none."""
        lowest, highest = part.low, part.high
        bounded = np.isfinite(lowest) & np.isfinite(highest)
        low, high = np.where(bounded, lowest, 0.0), np.where(bounded, highest, 1.0)
        full = (*shape, lowest.size)
        free = np.clip(self._generator.normal(size=full), lowest, highest)
        return np.where(bounded, self._generator.uniform(low, high, full), free).astype(np.float32)

    def _among(self, heads: tuple[int, ...], shape: tuple[int, int], mask: np.ndarray | None) -> np.ndarray:
        """The choice of each head; of choices that are left, all are equally likely."""
        chosen, first = [], 0
        for choices in heads:
            chance = self._generator.random((*shape, choices))
            if mask is not None:
                chance = np.where(mask[..., first : first + choices], chance, chance - 1.0)
            chosen.append(chance.argmax(axis=-1))
            first += choices
        return np.stack(chosen, axis=-1).astype(np.int32)
