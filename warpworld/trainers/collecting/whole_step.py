"""A step of everything in one call: every group's networks and draws, and the world's own step."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from warpworld.managers import RunHostFunction, RunKernel
from warpworld.policies import Policy
from warpworld.policies.fused import FusedActing, FusedNetworks, Joining, fused_actor
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.players import Player, decide, distribution_of
from warpworld.world import World


class WholeStep:
    """Acts for some groups and steps the world, as the actors and the world do, bit for bit.

    A worker takes some envs through all of it: their networks, draws and records, and their step. It is valid for the
    current players and their networks only.

    Attributes:
        run: takes the step; call ``begin`` before the first one.

    Args:
        world: a sealed world, of which every group has its actor here.
        actors: of which ``acts_in_cpp`` holds.
    """

    def __init__(self, world: World, actors: Sequence[Actor]) -> None:
        self._world, self._actors = world, actors
        self._joining, self._acting = list[Joining](), list[FusedActing]()
        self._zeroed = list[Tensor]()
        self.run = world.step_after([step for actor in actors for step in self._steps(actor)])

    def _steps(self, actor: Actor) -> list[RunHostFunction | RunKernel]:
        acting, num_envs = [], self._world.num_envs
        for player, seen, outputs in actor.playing:
            networks = networks_of(player)
            if networks is None:
                self._zeroed.append(outputs)
            else:
                acting.append(FusedActing(networks, seen.observations, outputs, seen.envs.start or 0, num_envs))
        self._acting += acting
        joining = [Joining(*actor.joined)] if actor.joins else []
        self._joining += joining
        return [
            *(part.step for part in joining),
            *(part.step for part in acting),
            actor.sampler.step(at_random=actor.is_random),
        ]

    def begin(self) -> None:
        """Take in weights, which may change between two rollouts and at no other time."""
        for acting in self._acting:
            acting.begin()
        for outputs in self._zeroed:
            outputs.zero_()  # equal logits: whatever is allowed is equally likely
        for actor in self._actors:
            for player, seen, _ in actor.playing:
                actor.sampler.take(distribution_of(player), seen.envs)


def networks_of(player: Player) -> FusedNetworks | None:
    """A player's networks in C++; None for players that need Python."""
    is_plain = isinstance(player, Policy) and decide.dispatch(type(player)) is decide.dispatch(object)
    return fused_actor(player) if is_plain else None  # type: ignore[arg-type]


def acts_in_cpp(actor: Actor) -> bool:
    """Whether every player of a group acts in C++ or at random."""
    if actor.memory is not None or (actor.joins and not Joining.takes(*actor.joined)):
        return False
    return all(
        player is None or (networks_of(player) is not None and FusedActing.takes(seen.observations))
        for player, seen, _ in actor.playing
    )
