"""``warpworld.play``: whole episodes with any players, and what came of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch

from warpworld.environment import Group, action_start, at_path, mapped, parts_with
from warpworld.errors import DeclarationError, StoreError, suggest
from warpworld.policies import Policy
from warpworld.trainers.collecting import Actor, Scripted
from warpworld.trainers.from_python.group_arrays import action_mask, observations, write_actions
from warpworld.trainers.group_actors import actor_of
from warpworld.trainers.readings import PlayedMetrics, Rewards
from warpworld.trainers.rounds import play_rounds
from warpworld.world import World, whole_number

Function: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class Episodes:
    """Episodes that were played.

    Attributes:
        returns: by group, (episodes, group size) float64: the sum of an agent's rewards over the episode, undiscounted
            and without the rows that do not count.
        lengths: (episodes,) int64, steps.
        metrics: the environment's own, by the names that a run logs them under: means over the episodes, and over the
            agents that took part in each; NaN if none did.
        unfinished: how many of the episodes had not ended when the steps were over.
    """

    returns: dict[str, np.ndarray]
    lengths: np.ndarray
    metrics: dict[str, float]
    unfinished: int = 0

    @property
    def mean_returns(self) -> dict[str, float]:
        """The mean return of a group's agents, by group."""
        return {name: float(values.mean()) for name, values in self.returns.items()}


def play(
    world: World,
    policies: Mapping[str, Policy | Function | str | None],
    episodes: int = 100,
    *,
    seed: int | None = None,
    greedy: bool = False,
    steps: int | None = None,
) -> Episodes:
    """Play whole episodes, each env the same number of them.

    They are played in envs like those of the world, which stays as it is.

    Args:
        world: with autoreset in the same step.
        policies: who plays each group: a policy, as ``load_policy`` returns it; the name of one of the environment's
            scripts; None, which acts at random; or a function from the group's observations, NumPy (num_envs, size,
            *shape), to its actions, in the shape of its space. A function with a parameter ``action_mask`` is given
            the mask, (num_envs, size, choices) bool, or None where the world has none.
        episodes: how many, rounded up so that every env plays as many.
        seed: of the episodes and of the actions that are drawn; None takes that of the world. Envs of another library
            keep the seed with which they are opened.
        greedy: take the likeliest actions of policies instead of drawing them.
        steps: of each env, after which playing stops; episodes that have not ended count as far as they came. None
            plays all to their end.

    Raises:
        DeclarationError: ``world`` is no World, or a number is out of its range.
        StoreError: a group has no player, or a function returns other actions than the group takes.
        RunError: episodes do not end, and there are no ``steps``.
    """
    if not isinstance(world, World):
        raise DeclarationError(f"play() takes a World, not {world!r}")
    rounds = -(-whole_number("episodes", episodes, 1) // world.num_envs)
    steps = None if steps is None else whole_number("steps", steps, 1)
    seed = None if seed is None or world.environment.draws_outside else whole_number("seed", seed, 0, bits=64)
    _check_players(world, policies)
    with world.part(0, world.num_envs) as played:
        actors = [_player(played, group, policies[name], greedy) for name, group in played.groups.items()]
        metrics = PlayedMetrics(played, rounds)
        name, rewards = played.environment.name, Rewards(played)
        totals, lengths, finished = play_rounds(played, actors, rounds, name, rewards, metrics, steps, seed)
        begun = lengths > 0
        returns = {name: totals[:, :, group.slice][begun].numpy() for name, group in played.groups.items()}
        return Episodes(returns, lengths[begun].numpy(), metrics.means(), int(begun.sum()) - finished)


def _check_players(world: World, policies: Any) -> None:
    """Check that each group of a world has a player that there is."""
    if not isinstance(policies, Mapping):
        raise StoreError(f"policies: {type(policies).__name__}, expected a player for each group by its name")
    for name in policies:
        if name not in world.groups:
            known = ", ".join(world.groups)
            raise StoreError(f"policies: no group '{name}'.{suggest(str(name), world.groups)} Groups: {known}")
    scripts = world.environment.scripts()
    for name in world.groups:
        if name not in policies:
            raise StoreError(f"policies: none for group '{name}'; None takes actions at random")
        player = policies[name]
        if isinstance(player, str) and player not in scripts:
            known = ", ".join(scripts) or "none"
            raise StoreError(
                f"policies: no script '{player}' for group '{name}'.{suggest(player, scripts)} Scripts of "
                f"{world.environment.name}: {known}"
            )
        if player is not None and not isinstance(player, (str, Policy)) and not callable(player):
            raise StoreError(
                f"policies: {type(player).__name__} for group '{name}', expected a Policy, a function, the name of a "
                "script or None"
            )


def _player(world: World, group: Group, player: Any, greedy: bool) -> Actor | _Called:
    """Actor of a group of an unsealed world."""
    if player is None or isinstance(player, Policy):
        return actor_of(world, group.name, player, greedy)
    if isinstance(player, str):
        return actor_of(world, group.name, Scripted(player, world.environment.scripts()[player]), greedy=False)
    return _Called(world, group, player)


class _Called:
    """A function that acts for a group."""

    def __init__(self, world: World, group: Group, function: Function) -> None:
        self._world, self._group, self._function = world, group, function
        self._takes_mask = "action_mask" in inspect.signature(function).parameters

    def act(self) -> None:
        """Write the actions for what the group sees now into the store."""
        seen = mapped(lambda part: part.cpu().numpy().copy(), observations(self._world, self._group))
        mask = action_mask(self._world, self._group) if self._takes_mask else None
        given = {"action_mask": None if mask is None else mask.cpu().numpy()} if self._takes_mask else {}
        actions = mapped(lambda part: torch.as_tensor(part).to(self._world.device), self._function(seen, **given))
        self._check(actions)
        write_actions(self._world, self._group, actions)

    def _check(self, actions: Any) -> None:
        """Refuse actions of another shape, and choices that there are none of."""
        world, group = self._world, self._group
        for part, path, leaf in parts_with(group.action, group.callers_action):
            given, expected = at_path(actions, path), (world.num_envs, group.size, *(leaf.shape or ()))
            if tuple(given.shape) != expected:
                raise StoreError(
                    f"policies: the function for group '{group.name}' gives actions of shape {tuple(given.shape)}, "
                    f"expected {expected}"
                )
            counted = given.cpu().numpy() - action_start(leaf) if part.heads else np.zeros(0, np.int64)
            if counted.dtype.kind not in "iu" or (counted < 0).any() or (counted >= np.array(part.heads or 1)).any():
                raise StoreError(
                    f"policies: the function for group '{group.name}' gives an action that is not in {leaf}"
                )
