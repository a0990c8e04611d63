"""Outcomes of an iteration's steps: rewards and ends of all agents, a row a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from warpworld.environment import Array
from warpworld.trainers.collecting.finite import refuse_not_finite
from warpworld.trainers.collecting.recorder import Recorder
from warpworld.world import World

ROW = "rollout_row"  # the array that holds the present step's row
OPTIONAL = ("agent_terminated", "agent_truncated", "agent_mask")  # of what a step comes to, per agent


class Outcomes(Recorder):
    """Records rewards and ends of T steps, each array NAME in ``rollout_NAME``, (T, num_envs, ...).

    The row that is written stands in the array ``ROW``. It is kept in snapshots, so that the check of a CUDA graph,
    which steps the world more often than a collector does, leaves it as it was.

    Attributes:
        optional: those of ``OPTIONAL`` that the world has; they are recorded too.
        rows: the arrays of the records, by the names of what they record.

    Args:
        world: an unsealed world.
        num_steps: T.
    """

    def __init__(self, world: World, num_steps: int) -> None:
        self._world = world
        self._first, self._counting = 0, [self.stepped]
        self.optional = [name for name in OPTIONAL if name in world.data]
        world.add(Array(ROW, "int32", per="world", initial=0, read_only=True, doc="the row that is recorded next"))
        self.rows: dict[str, Array] = {}
        for name in ("rewards", "terminated", "truncated", *self.optional):
            array = world.data.array(name)
            shape = (num_steps, *array.full_shape(world.num_envs, world.num_agents))
            self.rows[name] = world.add(Array(f"rollout_{name}", array.dtype, shape, per="world"), kept="derived")
            world.record(name, self.rows[name].name, ROW)

    def leave_counting(self) -> None:
        """Leave ``ROW`` to a kernel that counts it up before each step, from -1; else it is done after each, from 0."""
        self._first, self._counting = -1, []

    def begin(self) -> None:
        """Start a rollout: the first step goes into row 0."""
        self._world[ROW].fill_(self._first)

    def calls_after_step(self) -> Sequence[Callable[[], None]]:
        """Let the next step go into the next row, where no kernel counts."""
        return self._counting

    def stepped(self) -> None:
        """The next step goes into the next row."""
        self._world[ROW].add_(1)

    def end(self) -> None:
        """A step that is taken between two iterations must find a row there is."""
        self._world[ROW].zero_()

    def measured(self) -> Sequence[Tensor]:
        """Whether the rewards are finite."""
        return [self._world["rollout_rewards"].sum(dtype=torch.float32).isfinite()]

    def refuse_not_finite(self) -> None:
        """Search the rewards of agents that count.

        Raises:
            TrainingError: names env, agent, step and number.
        """
        world = self._world
        for group in world.groups.values():
            rewards = world["rollout_rewards"][:, :, group.slice].unsqueeze(-1)
            mask = world["rollout_agent_mask"][:, :, group.slice] if "agent_mask" in self.optional else None
            refuse_not_finite(world, "rewards", group, rewards, mask)
