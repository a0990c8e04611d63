"""Players of a group that need no torch: scripts that are kernels, and those that act at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from warpworld.environment import Array, Group, Kernel, script_kernels
from warpworld.managers import RunKernel
from warpworld.trainers.collecting.players import Player, Scripted, Seen, kernel_of
from warpworld.world import World


class ScriptKernels:
    """Players of a group in whose steps torch has no part.

    A script that is a kernel is one launch, whatever envs it plays in. The outputs of random players are zeros, so that
    whatever is allowed is equally likely; they are written once.

    Attributes:
        steps: launches of the scripts that play at present.

    Args:
        world: an unsealed world.
        group: the agents.
        num_outputs: of an agent.
    """

    def __init__(self, world: World, group: Group, num_outputs: int) -> None:
        self._world, self._group, self._num_outputs = world, group, num_outputs
        self._players = Scripted.players_array(group)
        self._taken: list[Kernel | Player] = []
        self._run: Callable[[], None] | None = None
        self.steps: list[RunKernel] = []
        if script_kernels(world.environment) and self._players not in world.data:
            world.add(Array(self._players, "int32", per="env", initial=-1), kept="derived")

    def take(self, playing: Sequence[tuple[Player, Seen, Tensor]]) -> None:
        """Take in who plays where; it does nothing where that is as before.

        Args:
            playing: players in the sealed store, each with its envs, see ``Actor.playing``.
        """
        kernels = [kernel_of(player) for player, _, _ in playing]
        taken = [kernel or player for kernel, (player, _, _) in zip(kernels, playing, strict=True)]
        if taken == self._taken:
            return
        self._taken = taken
        # outputs of random players
        for player, _, outputs in playing:
            if player is None:
                outputs.zero_()
        # a number for each script, and the numbers of envs
        found = list(dict.fromkeys(kernel for kernel in kernels if kernel is not None))
        if self._players in self._world:
            for kernel, (_, seen, _) in zip(kernels, playing, strict=True):
                self._world[self._players][seen.envs] = -1 if kernel is None else found.index(kernel)
        # launches
        numbered = [(kernel, Scripted.played(self._group, n, self._num_outputs)) for n, kernel in enumerate(found)]
        self.steps = [self._world.script_step(kernel, played) for kernel, played in numbered]
        self._run = self._world.program(self.steps) if self.steps else None

    def run(self) -> None:
        """Write the outputs of all agents that these scripts play."""
        if self._run is not None:
            self._run()
