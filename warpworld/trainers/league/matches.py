"""Results of the episodes against opponents: a match each."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from warpworld.environment import Array
from warpworld.trainers.collecting import Slot
from warpworld.world import World


class Matches:
    """Scores the episodes that end in slots, for the side of the present selves.

    An episode is won, 1, where the present selves' mean return is above that of the opponent's agents; lost, 0, where
    it is below; and drawn, 1/2, where they are equal. Rows that ``agent_mask`` leaves out bring no reward. One that was
    begun against another opponent does not count. What an unfinished one has so far is kept as state in the
    store.

    Args:
        world: an unsealed world, in which a rollout is recorded.
        slots: all slots, which lie behind each other at the end of the envs; among several processes some are empty.
    """

    def __init__(self, world: World, slots: Sequence[Slot]) -> None:
        self._world, self._slots = world, slots
        self._envs = slice(min(slot.envs.start for slot in slots), world.num_envs)
        doc = "how far the present selves are ahead in the running episode"
        world.add(Array("match_balance", "float64", per="env", initial=0.0, doc=doc))
        doc = "whether the running episode was begun against the present opponent"
        world.add(Array("match_whole", "bool", per="env", initial=True, doc=doc))
        world.when_sealed(self._bind)

    def _bind(self) -> None:
        """Find the arrays in the sealed store."""
        world = self._world
        self._balance, self._whole = world["match_balance"], world["match_whole"]
        # whole numbers, so that equal means are a draw to the bit: the present side's sum counts as often as the
        # opponent has agents, and the other way around
        weights = torch.zeros(world.num_envs, world.num_agents, dtype=torch.float64)
        for slot in self._slots:
            theirs = sum(world.groups[group].size for group in slot.groups)
            weights[slot.envs] = theirs
            for group in slot.groups:
                weights[slot.envs, world.groups[group].slice] = theirs - world.num_agents
        self._weights = weights[self._envs].to(world.device)

    def exchange(self, slot: Slot) -> None:
        """Note that another opponent plays a slot from here on: the episodes under way in it do not count."""
        self._whole[slot.envs] = self._world["timestep"][slot.envs] == 0

    def results(self) -> Tensor:
        """Take in the rollout that stands in the store; nothing is read back to the host.

        Returns:
            (slots, 3) float64: of the matches that ended in it the sum of scores and their number; and how many
            episodes ended that began against another opponent.
        """
        # lead of the present self after each step
        world, envs = self._world, self._envs
        rewards = world["rollout_rewards"][:, envs].double()
        if "rollout_agent_mask" in world.data:
            rewards = rewards.masked_fill(~world["rollout_agent_mask"][:, envs], 0.0)
        ahead = (rewards * self._weights).sum(-1).cumsum(0) + self._balance[envs]
        # lead at the start of each step's episode
        ends = (world["rollout_terminated"] | world["rollout_truncated"])[:, envs]
        steps = torch.arange(len(ends), device=ends.device)[:, None]
        latest = torch.where(ends, steps, -1).cummax(0).values  # the latest end up to each step; -1: none
        before = torch.cat((torch.full_like(latest[:1], -1), latest[:-1]))
        at_start = torch.where(before >= 0, ahead.gather(0, before.clamp(min=0)), 0.0)
        # scores of the episodes that count: 0, 0.5 or 1
        counts = ends & (self._whole[envs] | (before >= 0))
        scores = ((ahead - at_start).sign() + 1.0) / 2.0 * counts
        # state that the next rollout continues
        last = latest[-1:]
        carried = ahead[-1:] - torch.where(last >= 0, ahead.gather(0, last.clamp(min=0)), 0.0)
        self._balance[envs] = carried[0]
        self._whole[envs] |= last[0] >= 0
        # sums over the envs of each slot
        left_out = ends & ~counts
        per_env = torch.stack((scores.sum(0), counts.sum(0).double(), left_out.sum(0).double()), 1)
        first = envs.start
        return torch.stack([per_env[s.envs.start - first : s.envs.stop - first].sum(0) for s in self._slots])
