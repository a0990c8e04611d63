"""A world's copy in which searches try actions: the model of a tree search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from warpworld.environment import Group, choice_heads
from warpworld.errors import DeclarationError, RunError
from warpworld.policies import ObservationRows, Policy
from warpworld.trainers.searching.trees import Arrived, Seen
from warpworld.world import World

_OWN = ("active", "resetting", "random_key")  # of each call, and the copy's own random numbers
_OTHER_KEY = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class LearntRewards:
    """Rewards as they are learnt from.

    Attributes:
        scale: what they are multiplied by.
        clip: size at which they are cut off then; None for none.
    """

    scale: float = 1.0
    clip: float | None = None

    def of(self, rewards: np.ndarray) -> np.ndarray:
        """Float32 rewards of the world, scaled and cut off."""
        scaled = rewards * np.float32(self.scale)
        return scaled if self.clip is None else scaled.clip(-self.clip, self.clip)


class Simulation:
    """Envs that begin where a world's stand, and are moved on from any position that they have been in.

    They draw random numbers of their own: a search does not know those that the world will draw. They follow from the
    world's, so that searches from one state are the same.

    Attributes:
        movers: (num_envs,) int64, the agent that moves next in the position that was looked at last.

    Args:
        world: a sealed world, on the cpu.
        groups: all its groups; two agents take turns by its ``action_mask``.
        positions: that are kept.
        gamma: discount per move.
        rewards: how they count.

    Raises:
        RunError: the world is on another device.
    """

    def __init__(
        self, world: World, groups: Sequence[Group], positions: int, gamma: float, rewards: LearntRewards
    ) -> None:
        if world.captures:
            raise RunError(
                f"policies of {world.environment.name} play by search, which runs on a cpu alone; give --device cpu, "
                "or --simulations 0"
            )
        self._world, self._gamma, self._learnt = world, gamma, rewards
        self._copy = world.part(0, world.num_envs)
        self._copy.reset()
        self._seen = [self._parts_of(group) for group in groups]
        self._rewards = self._copy.data.numpy("rewards")
        moved = {world.action_array(group.name)[0] for group in groups}
        self._actions = [self._copy.data.numpy(name) for name in moved]
        self._ends = [self._copy.data.numpy(name) for name in ("terminated", "truncated")]
        self._names = [name for name in self._copy.data.names("state") if name not in _OWN]
        self._rows = ObservationRows(groups[0].observation)
        self._envs, self._choices = np.arange(world.num_envs), sum(choice_heads(groups[0].action))
        state = self._copy.state()
        self._states = state.new_empty(positions * world.num_envs, state.shape[1])
        self._movers_of = np.zeros((positions, world.num_envs), np.int64)
        self._kept = 0
        self.movers = np.zeros(world.num_envs, np.int64)

    def begin(self, policy: Policy) -> Seen:
        """Copy the world's present state; gives what the policy sees there.

        Raises:
            DeclarationError: both of two agents may move.
        """
        self._world.save_residents(is_tried=False)
        for name in self._names:
            self._copy.data[name].copy_(self._world.data[name])
        self._copy.load_residents()
        keys = self._world.data.numpy("random_key")
        self._copy.data.numpy("random_key")[:] = keys ^ _OTHER_KEY
        seen = self._look(policy)
        self._kept = 0
        self._keep()
        return seen

    def step(self, policy: Policy, nodes: np.ndarray, actions: np.ndarray) -> Arrived:
        """Move every env on; arguments as of ``trees.Step``."""
        world, envs = self._copy, self._envs
        world.set_state(slice(None), self._states.index_select(0, torch.from_numpy(nodes * len(envs) + envs)))
        movers = self._movers_of[nodes, envs]
        for array in self._actions:
            array[:] = actions[:, None, None]
        world.step()
        rewards = self._learnt.of(self._rewards[envs, movers])
        is_over = self._ends[0] | self._ends[1]
        seen = self._look(policy)
        self._keep()
        signs = np.where(self.movers == movers, 1.0, -1.0)
        return Arrived(seen, rewards, np.where(is_over, 0.0, self._gamma * signs))

    def _keep(self) -> None:
        """Keep the copy's position behind those before."""
        count = len(self._envs)
        self._states[self._kept * count : (self._kept + 1) * count] = self._copy.state()
        self._movers_of[self._kept] = self.movers
        self._kept += 1

    def _look(self, policy: Policy) -> Seen:
        """Positions of the copy as the policy sees them, from the view of the agent that moves."""
        legal = self._legal()
        rows = [self._rows.join(parts) for parts in self._seen]
        seen = torch.cat(rows, 1) if len(rows) > 1 else rows[0]
        if seen.shape[1] > 1:
            self.movers = legal.any(2).argmax(1)
        legal, seen = legal[self._envs, self.movers], seen[torch.from_numpy(self._envs), torch.from_numpy(self.movers)]
        legal[~legal.any(1)] = True
        with torch.no_grad():
            logits, values = policy.outputs_and_values(seen)
        return Seen(logits.numpy(), legal, values.numpy())

    def _legal(self) -> np.ndarray:
        """(num_envs, agents, choices) bool.

        Raises:
            DeclarationError: both of two agents may move.
        """
        data = self._copy.data
        if "action_mask" not in data:
            return np.full((len(self._envs), 1, self._choices), True)
        legal = data.numpy("action_mask").copy()
        if (legal.any(2).sum(1) > 1).any():
            raise DeclarationError(
                f"{self._world.environment.name}: both agents may move at once, and gumbel_zero searches games by "
                "turns; expected an action_mask that allows one of them nothing"
            )
        return legal

    def _parts_of(self, group: Group) -> list[Tensor]:
        """Observations of a group in the copy: views (num_envs, size, numbers) of the store."""
        seen = self._copy.observations(group.name)
        return [part.flatten(2) for part in (seen.values() if isinstance(seen, dict) else [seen])]
