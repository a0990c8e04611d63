"""Base class of replays: a ring that steps are recorded in, and its draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from warpworld.environment import Kernel
from warpworld.managers import Copy, Number, Step
from warpworld.trainers.collecting import Actor, Collector, Recorder
from warpworld.trainers.processes import ProcessGroup
from warpworld.trainers.replay.policy_agents import PolicyAgents
from warpworld.trainers.replay.priorities import KERNELS, SMALLEST_PRIORITY, Priorities, lanes_for
from warpworld.trainers.replay.ring import Ring
from warpworld.trainers.replay.ring_history import RingHistory
from warpworld.trainers.spans import PRIORITIES, spanned


@dataclass(frozen=True)
class DrawSizes:
    """Sizes of a ring and of its draws, for every kind of replay.

    Attributes:
        rows: steps of all envs that the ring holds.
        batch_size: items in a draw.
        n_step: steps of a return.
        gamma: discount per step.
        alpha: how much priorities count; 0 draws uniformly.
        actors_priority: whether an item's first priority comes from its errors as they were acted; else it is the
            largest.
        reward_scale: what rewards are multiplied by.
        reward_clip: rewards are then cut off at this size; 0 leaves them.
        value_rescale: whether actors' values are on a scale of their own, see ``value_rescale.py``.
    """

    rows: int
    batch_size: int
    n_step: int = 1
    gamma: float = 0.99
    alpha: float = 0.0
    actors_priority: bool = False
    reward_scale: float = 1.0
    reward_clip: float = 0.0
    value_rescale: bool = False


class Replay(Recorder):
    """Records every step of a policy's agents in a ring, and draws from it what its kernels make of the rows.

    Attributes:
        world: whose steps are recorded.
        ring: what they are recorded in.
        priorities: what draws.
        history: what checkpoints hold of it.

    Args:
        collector: of an unsealed world.
        groups: of the policy.
        sizes: the batch is this process's part.
        blocks: blocks of items in the ring, each with the items of all envs.
        processes: those that learn together.
    """

    def __init__(
        self, collector: Collector, groups: Sequence[str], sizes: DrawSizes, blocks: int, processes: ProcessGroup
    ) -> None:
        self._collector, self.world, self._draws = collector, collector.world, sizes
        self.ring = Ring(collector, groups, sizes.rows, sizes.actors_priority)
        block, name = self.world.num_envs * self.items_per_env, self.policy_agents.name
        self.priorities = Priorities(self.world, name, blocks, block, sizes.batch_size, sizes.alpha, processes)
        self._aliases = {**self.priorities.aliases, **self.ring.aliases}
        self.history = RingHistory(self, sizes.n_step)
        collector.add(self)

    @property
    def policy_agents(self) -> PolicyAgents:
        """Agents whose steps are replayed."""
        return self.ring.policy_agents

    @property
    def aliases(self) -> Mapping[str, str]:
        """The arrays' names by those of the kernels' parameters; some stand for arrays that this replay has not."""
        return self._aliases

    @property
    def members(self) -> tuple[int, ...]:
        """Agents of an item, as the dimensions that they have in a batch: none, where each agent has its own items."""
        return ()

    @property
    def items_per_env(self) -> int:
        """Items of an env in a block."""
        return self.policy_agents.size // math.prod(self.members)

    @property
    def items(self) -> int:
        """Transitions that the ring holds."""
        return self.ring.rows * self.world.num_envs * self.items_per_env

    # ---- before the world is sealed ----------------------------------------------------------------------------------
    def act(self, group: str, *args: object, **kwargs: object) -> Actor:
        """Let a player act for one of the groups; arguments as those of ``Collector.act``."""
        return self.ring.act(group, *args, **kwargs)

    @property
    def value_arrays(self) -> dict[str, str]:
        """Arrays in which an actor notes values of its actions, by its kernel's parameters; empty if it need not."""
        return self.ring.value_arrays

    def build(self, source: str, constants: Mapping[str, Number], work: int, **scalars: Number) -> None:
        """Compile the kernels that know what is drawn.

        Args:
            source: name of their file.
            constants: besides those of the ring and of every draw.
            work: how much the lanes of all envs share at most.
            scalars: that kernels take besides gamma and alpha.
        """
        world, sizes, members = self.world, self._draws, math.prod(self.members)
        of_draws = {
            "BATCH": sizes.batch_size,
            "N_STEP": sizes.n_step,
            "ENTRIES": members * self.policy_agents.rows.size,
            "ACTION_SIZE": members * self.policy_agents.action_size,
            "CHOICES": members * self.ring.choices or 1,
            "ACTORS_PRIORITY": int(sizes.actors_priority),
            "VALUE_RESCALE": int(sizes.value_rescale),
            "REWARD_SCALE": float(sizes.reward_scale),
            "REWARD_CLIP": float(sizes.reward_clip),
            "SMALLEST_PRIORITY": SMALLEST_PRIORITY,
        }
        known = {**self.ring.constants, **of_draws, **constants}
        numbers = {**self.ring.sizes_of(known), "gamma": sizes.gamma, "alpha": sizes.alpha}
        path = KERNELS / source
        self._kernels = world.kernels(path, known, scalars={**numbers, **scalars}, aliases=self._aliases)
        lanes = lanes_for(max(work, world.num_envs * self.items_per_env), world.num_envs)
        self._kernels.build([Kernel(name, lanes, own_env_only=False) for name in self._kernels.signatures])

    # ---- in the sealed store -----------------------------------------------------------------------------------------
    def step(self, kernel: str) -> Step:
        """Bind one of the replay's kernels to the arrays."""
        return self._kernels.step(kernel, index=0, own_env_only=False)

    def array(self, what: str) -> Tensor:
        """An array, by the name that kernels have for it."""
        return self.world[self._aliases[what]]

    def copies(self) -> Sequence[Copy]:
        """Copies of what was seen, done and allowed into the row."""
        return self.ring.copies()

    def measured(self) -> Sequence[Tensor]:
        """Whether what agents saw in the latest iteration is finite."""
        return [self.ring.is_finite()]

    def refuse_not_finite(self) -> None:
        """Search what they saw; see ``Ring.refuse_not_finite``."""
        self.ring.refuse_not_finite()

    @spanned(PRIORITIES)
    def update(self, errors: Tensor) -> None:
        """Give the batch that was drawn last new priorities; see ``Priorities.update``."""
        self.priorities.update(errors)
