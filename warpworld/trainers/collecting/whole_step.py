"""Steps of everything in one call: every group's networks and draws, and the world's own step."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from warpworld.managers import Step
from warpworld.policies import Policy, RememberingPolicy
from warpworld.policies.fused import FusedActing, FusedNetworks, Joining, fused_actor
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.players import Player, decide, distribution_of, needs_torch
from warpworld.world import World


class WholeSteps:
    """Acts for some groups and steps the world several times, as the actors and the world do, bit for bit.

    A worker takes some envs through all of it: their networks, draws and records, and their step. It is valid for the
    current players and their networks only.

    Attributes:
        run: takes the steps; call ``begin`` before.

    Args:
        world: a sealed world, of which every group has its actor here.
        actors: of which ``acts_in_cpp`` holds.
        recording: what records a step when every player has acted, and what moves on behind it.
        num_steps: T.
        row: name of the array with the row that is recorded next, which is counted up after each step.
    """

    def __init__(
        self,
        world: World,
        actors: Sequence[Actor],
        recording: tuple[Sequence[Step], Sequence[Step]],
        num_steps: int,
        row: str,
    ) -> None:
        self._world, self._actors = world, actors
        self._joining, self._acting = list[Joining](), list[FusedActing]()
        acting, (record, move_on) = [step for actor in actors for step in self._steps(actor)], recording
        self.run = world.steps_between([*acting, *record], move_on, num_steps, row)

    def _steps(self, actor: Actor) -> list[Step]:
        acting, num_envs, memory = [], self._world.num_envs, actor.memory
        actor.scripts.take(actor.playing)
        for player, seen, outputs in actor.playing:
            networks = networks_of(player)
            if networks is not None:
                remembered = None if memory is None else (memory.state[seen.envs], memory.values[seen.envs])
                first = seen.envs.start or 0
                acting.append(FusedActing(networks, seen.observations, outputs, first, num_envs, remembered))
        self._acting += acting
        joining = [Joining(*actor.joined)] if actor.joins else []
        self._joining += joining
        forgets = [] if memory is None else [memory.forget_step()]
        seeing = [part.step for part in joining]
        playing: list[Step] = [*actor.scripts.steps, *(part.step for part in acting)]
        return [*forgets, *seeing, *playing, actor.sampler.step(at_random=actor.is_random)]

    def begin(self) -> None:
        """Take in weights, which may change between two rollouts and at no other time."""
        for acting in self._acting:
            acting.begin()
        for actor in self._actors:
            for player, seen, _ in actor.playing:
                actor.sampler.take(distribution_of(player), seen.envs)


def networks_of(player: Player) -> FusedNetworks | None:
    """A player's networks in C++; None for players that need Python."""
    if not isinstance(player, Policy):
        return None
    usual = decide.dispatch(RememberingPolicy if isinstance(player, RememberingPolicy) else object)
    return fused_actor(player) if decide.dispatch(type(player)) is usual else None


def acts_in_cpp(actor: Actor) -> bool:
    """Whether every player of a group acts in C++, by a kernel or at random."""
    if actor.joins and not Joining.takes(*actor.joined):
        return False
    size = 0 if actor.memory is None else actor.memory.state_size
    return all(
        not needs_torch(player) or _networks_take(networks_of(player), seen.observations, size)
        for player, seen, _ in actor.playing
    )


def _networks_take(networks: FusedNetworks | None, observations: Tensor, state_size: int) -> bool:
    """Whether a player has networks in C++, for observations and a memory that lie as these do."""
    return networks is not None and FusedActing.takes(observations) and networks.state_size == state_size
