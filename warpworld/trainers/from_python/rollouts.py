"""``warpworld.rollout``: steps of a world as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from warpworld.environment import Group
from warpworld.errors import DeclarationError, StoreError, suggest
from warpworld.policies import Policy, RememberingPolicy
from warpworld.trainers.from_python.group_arrays import action_mask, ends, observations, write_actions
from warpworld.trainers.from_python.step_recorder import StepRecorder, stacked
from warpworld.world import RandomActions, World, whole_number


def rollout(
    world: World,
    policies: Policy | Mapping[str, Policy | None] | None,
    steps: int,
    seed: int = 0,
    *,
    greedy: bool = False,
    frames: Sequence[int] = (),
) -> dict[str, Any]:
    """Reset a world, and step it with the actions of policies.

    Args:
        world: with autoreset in the same step, or disabled; envs that end are then reset here, on the same trajectory.
        policies: by group, None for random actions; or one policy for every group.
        steps: T.
        seed: of the world and of the actions; envs of another library keep the seed with which they were opened.
        greedy: take the likeliest actions instead of drawing; random ones stay random.
        frames: envs that are drawn before each step.

    Returns:
        NumPy arrays, by kind and then by group: ``observations``, those that ``actions`` were chosen on, and
        ``actions``, (T, num_envs, size, *shape of the space), with a dict in place of an array for a Dict space,
        and a tuple for a Tuple of actions;
        ``rewards`` float32, ``terminated`` and ``truncated`` bool, (T, num_envs, size): ends of the env's episode, or
        of the agent's own part; where the world has them ``action_mask`` (T, num_envs, size, choices) and
        ``agent_mask`` (T, num_envs, size) bool, which rows count. With ``frames`` also those, not by group:
        (T, envs painted, height, width, 3) uint8.

    Raises:
        StoreError: a group has no policy, or the world cannot be recorded.
        DeclarationError: a number is out of its range, or ``world`` is no World.
    """
    # arguments
    if not isinstance(world, World):
        raise DeclarationError(f"rollout() takes a World, not {world!r}")
    steps, seed = whole_number("steps", steps, 1), whole_number("seed", seed, 0, bits=64)
    if world.autoreset == "next_step":
        raise StoreError("rollout(): an env of autoreset='next_step' has steps without actions; make it 'same_step'")
    # players, a recorder and the first episodes
    recorder = StepRecorder(world, frames)
    players = _players(world, policies, seed, greedy)
    at_random = RandomActions(world, seed)
    world.reset(seed=None if world.environment.draws_outside else seed)
    recorded = []
    for _ in range(steps):
        # actions, with what they are chosen on
        seen = recorder.before()
        at_random.draw()
        at_random.put(world, slice(0, world.num_envs))
        for player in players:
            player.act()
        done = recorder.actions()
        # the step and its results
        world.step()
        recorded.append({**seen, **done, **recorder.after()})
        # ends of episodes
        for player in players:
            player.forget()
        if world.autoreset == "disabled":
            world.reset(world["terminated"] | world["truncated"])
    return stacked(recorded)


def _players(world: World, policies: Any, seed: int, greedy: bool) -> list[_Player]:
    """Players of the groups that have a policy."""
    given = policies if isinstance(policies, Mapping) else dict.fromkeys(world.groups, policies)
    # policies that are given
    for name in given:
        if name not in world.groups:
            known = ", ".join(world.groups)
            raise StoreError(f"policies: no group '{name}'.{suggest(str(name), world.groups)} Groups: {known}")
    missing = [name for name in world.groups if name not in given]
    if missing:
        raise StoreError(f"policies: none for group '{missing[0]}'; None takes actions at random")
    for name, policy in given.items():
        if policy is not None and not isinstance(policy, Policy):
            raise StoreError(f"policies: {type(policy).__name__} for group '{name}', expected a Policy or None")
    # players, each with a seed of its own
    seeds = torch.Generator().manual_seed(seed)
    return [
        _Player(world, world.groups[name], policy, greedy, int(torch.randint(2**63 - 1, (), generator=seeds)))
        for name, policy in given.items()
        if policy is not None
    ]


class _Player:
    """A policy that acts for a group, and remembers for it."""

    def __init__(self, world: World, group: Group, policy: Policy, greedy: bool, seed: int) -> None:
        self._world, self._group, self._policy, self._greedy = world, group, policy, greedy
        self._generator = torch.Generator(next(policy.parameters()).device).manual_seed(seed)
        self._state: Tensor | None = None

    def act(self) -> None:
        """Write the actions for what the group sees now into the store."""
        seen, mask = observations(self._world, self._group), action_mask(self._world, self._group)
        memory = {"state": self._state} if isinstance(self._policy, RememberingPolicy) else {}
        given = self._policy.act(seen, self._greedy, action_mask=mask, generator=self._generator, **memory)
        actions, self._state = given if memory else (given, None)
        write_actions(self._world, self._group, actions)

    def forget(self) -> None:
        """Forget what agents remember whose episode ended in the latest step."""
        if self._state is not None:
            terminated, truncated = ends(self._world, self._group)
            self._state = self._state.masked_fill((terminated | truncated).unsqueeze(-1), 0.0)
