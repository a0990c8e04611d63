"""Searches from the positions of a world, by which policies act in it."""

from __future__ import annotations

from functools import partial
from weakref import WeakKeyDictionary, proxy

import numpy as np
import torch
from torch import Tensor

from warpworld.trainers.collecting.players import Seen, decide
from warpworld.trainers.searching.recorder import TrainingMoves
from warpworld.trainers.searching.searching_policy import SearchingPolicy, SearchSettings
from warpworld.trainers.searching.simulation import LearntRewards, Simulation
from warpworld.trainers.searching.trees import Found, Scales, search
from warpworld.world import World

CERTAIN = 1e9  # how far the logit of the chosen action stands above the others


class Search:
    """Searches from the positions of a world: one for all its envs in each step.

    In training there is noise, and what was found is kept in the store, see ``SearchRecorder``.

    Attributes:
        movers: (num_envs,) int64, the agent that moves next in each env.

    Args:
        world: a sealed world.
        settings: of the search.
    """

    def __init__(self, world: World, settings: SearchSettings) -> None:
        self._world, self._settings = proxy(world), settings  # which is freed with its searches
        self._moves = TrainingMoves(self._world, settings.random_moves) if TrainingMoves.are_of(world) else None
        self._simulations = settings.num_simulations if self._moves else settings.eval_simulations
        rewards = LearntRewards(settings.reward_scale, settings.reward_clip or None)
        groups = list(world.groups.values())
        self._simulation = Simulation(self._world, groups, self._simulations + 1, settings.gamma, rewards)
        self._served: set[tuple[str, int]] = set()
        self._found: Found | None = None
        self._clock = np.zeros(0)  # of the step in which it was found
        self.movers = np.zeros(world.num_envs, np.int64)

    def outputs(self, policy: SearchingPolicy, seen: Seen) -> Tensor:
        """(num_envs, size, choices) float32: logits of a group's agents that leave the chosen action alone."""
        asked = seen.group.name, seen.envs.start or 0
        clock = self._world.data.numpy("clock")
        is_same_step = asked not in self._served and np.array_equal(clock, self._clock)
        if self._found is None or not is_same_step:
            self._found, self._served, self._clock = self.search(policy), set(), clock.copy()
        self._served.add(asked)
        group = seen.group
        logits = torch.zeros(self._world.num_envs, group.size, self._found.policy.shape[1])
        envs = np.flatnonzero((self.movers >= group.slice.start) & (self.movers < group.slice.stop))
        chosen = torch.from_numpy(self._found.actions[envs])
        logits[torch.from_numpy(envs), torch.from_numpy(self.movers[envs] - group.first), chosen] = CERTAIN
        return logits

    def search(self, policy: SearchingPolicy) -> Found:
        """Search from where the world's envs stand."""
        settings, simulation = self._settings, self._simulation
        root = simulation.begin(policy)
        self.movers = simulation.movers.copy()
        gumbels, at_random = np.zeros(root.logits.shape), None
        if self._moves is not None:
            noise, at_random = self._moves.numbers(root.logits.shape[1])
            gumbels = -settings.gumbel_scale * np.log(-np.log(noise))
        scales = Scales(settings.value_scale, settings.maxvisit_init)
        step, considered = partial(simulation.step, policy), settings.max_num_considered_actions
        found = search(root, step, gumbels, self._simulations, considered, scales, self._world.num_workers)
        if self._moves is None or at_random is None:
            return found
        return self._moves.keep(found, root.legal, self.movers, at_random)


_searches: WeakKeyDictionary[World, WeakKeyDictionary[SearchingPolicy, Search]] = WeakKeyDictionary()


@decide.register
def _(player: SearchingPolicy, seen: Seen, outputs: Tensor) -> None:
    if player.search.eval_simulations == 0 and not TrainingMoves.are_of(seen.world):
        outputs.copy_(player.outputs(seen.observations))
        return
    of_world = _searches.setdefault(seen.world, WeakKeyDictionary())
    if player not in of_world:
        of_world[player] = Search(seen.world, player.search)
    outputs.copy_(of_world[player].outputs(player, seen)[seen.envs])
