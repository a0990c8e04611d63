"""What all replays are: a ring that steps are recorded in, and what draws from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from warpworld.environment import Kernel
from warpworld.managers.numbers import Number
from warpworld.managers.program import Step
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.history import History
from warpworld.trainers.collecting.recorder import Recorder
from warpworld.trainers.replay.crew import Crew
from warpworld.trainers.replay.priorities import CUDA_FOLDER, Priorities, lanes_for
from warpworld.trainers.replay.ring import Ring
from warpworld.world import World


class Replay(Recorder):
    """Records every step of a policy's agents in a ring, and draws from it what its kernels make of the rows.

    Attributes:
        world: whose steps are recorded.
        ring: what they are recorded in.
        priorities: what draws.
        history: what checkpoints hold of it; a subclass makes it.

    Args:
        world: unsealed.
        ring: see above.
        priorities: see above.
    """

    history: History

    def __init__(self, world: World, ring: Ring, priorities: Priorities) -> None:
        self.world, self.ring, self.priorities = world, ring, priorities
        self._aliases = {**priorities.aliases, **ring.aliases}

    @property
    def crew(self) -> Crew:
        """The agents."""
        return self.ring.crew

    @property
    def aliases(self) -> Mapping[str, str]:
        """The arrays' names by those of the kernels' parameters; some stand for arrays that this replay has not."""
        return self._aliases

    @property
    def items(self) -> int:
        """Transitions that the ring holds."""
        return self.ring.rows * self.world.num_envs * self.crew.size

    # ---- before the world is sealed ----------------------------------------------------------------------------------
    def act(self, group: str, *args: object, **kwargs: object) -> Actor:
        """Let a player act for one of the groups; arguments as those of ``Collector.act``."""
        return self.ring.act(group, *args, **kwargs)

    @property
    def value_arrays(self) -> dict[str, str]:
        """Where an actor notes what it expected of its actions, by its kernel's parameters; empty where it need not."""
        return self.ring.value_arrays

    def build(self, source: str, constants: Mapping[str, Number], scalars: Mapping[str, Number], work: int) -> None:
        """Compile the kernels that know what is drawn.

        Args:
            source: name of their file.
            constants: besides those of the ring.
            scalars: that kernels take.
            work: how much the lanes of all envs share at most.
        """
        world, known = self.world, {**self.ring.constants, **constants}
        self._kernels = world.kernels(CUDA_FOLDER / source, known, scalars=scalars, aliases=self._aliases)
        lanes = lanes_for(max(work, world.num_envs * self.crew.size), world.num_envs)
        self._kernels.build([Kernel(name, lanes, own_env_only=False) for name in self._kernels.signatures])

    # ---- in the sealed store -----------------------------------------------------------------------------------------
    def step(self, kernel: str) -> Step:
        """One of these kernels, bound to the arrays."""
        return self._kernels.step(kernel, index=0, own_env_only=False)

    def array(self, what: str) -> Tensor:
        """An array, by the name that kernels have for it."""
        return self.world[self._aliases[what]]

    def acted(self) -> None:
        """Copy what was seen, done and allowed into the row."""
        self.ring.acted()

    def measured(self) -> Sequence[Tensor]:
        """Whether what agents saw in the latest iteration is finite."""
        return [self.ring.is_finite()]

    def refuse_not_finite(self) -> None:
        """Search what they saw; see ``Ring.refuse_not_finite``."""
        self.ring.refuse_not_finite()

    def update(self, errors: Tensor) -> None:
        """Give the batch that was drawn last new priorities; see ``Priorities.update``."""
        self.priorities.update(errors)
