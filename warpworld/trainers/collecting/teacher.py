"""Teacher of a curriculum: counts which episodes succeed, by level, and draws the levels of the next ones.

A level is worth r (1 - r), where r is the rate of success in it: most where half of the episodes succeed (learnability,
Rutherford et al. 2024, arXiv 2408.15099).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from warpworld.config import CurriculumConfig
from warpworld.environment import Array, per_env_dtypes
from warpworld.managers import RunKernel
from warpworld.trainers.collecting.outcomes import ROW
from warpworld.trainers.collecting.players import Slot, own_agents
from warpworld.world import World

SOURCE = Path(__file__).resolve().parent / "levels.cu"
SETTERS = {"float32": "set_floats", "int32": "set_ints", "bool": "set_bools"}


def rates_of(counts: Tensor) -> Tensor:
    """Rate of success in each level, (L,): one half where nothing is known.

    Args:
        counts: (2, L) float64, episodes and successes, which older ones count less in.
    """
    episodes, successes = counts
    return (successes + 1.0) / (episodes + 2.0)


def probabilities(counts: Tensor, uniform: float) -> Tensor:
    """Probability of each level, (L,) float64.

    Args:
        counts: as of ``rates_of``.
        uniform: share of episodes whose level is drawn uniformly.
    """
    rates = rates_of(counts)
    worth = rates * (1.0 - rates)
    return (1.0 - uniform) * worth / worth.sum() + uniform / len(rates)


class Teacher:
    """Draws the level of each episode when it begins, by probabilities that stay the same during a rollout.

    All that it knows lies in the store, so that it is saved with the world. Counts are whole numbers until they are
    summed over all envs and processes: their number, and that of workers, makes no difference.

    Attributes:
        add_up: notes the episodes that ended in the rollout that stands in the store; call it once for each.

    Args:
        curriculum: the settings.
        world: an unsealed world, whose rollouts are recorded.
        num_steps: rows of a rollout.
        slots: ranges of envs in which opponents play some groups; where they play the curriculum's, nothing is noted.
        total: sums numbers over the processes that share the envs.
    """

    def __init__(
        self,
        curriculum: CurriculumConfig,
        world: World,
        num_steps: int,
        slots: Sequence[Slot] = (),
        total: Callable[[Tensor], Tensor] = lambda numbers: numbers,
    ) -> None:
        self._curriculum, self._world, self._slots = curriculum, world, slots
        self._num_steps, self._total = num_steps, total
        self.add_up: Callable[[], None] = lambda: None
        self._declare(curriculum.levels)
        self._functions = world.kernels(SOURCE, {"LEVELS": curriculum.levels})
        self._functions.build([])
        index = world.kernel_index()
        for launch in self._draws(index):
            world.launch_at_resets(launch)
        world.when_sealed(self._bind)

    def _declare(self, levels: int) -> None:
        world = self._world
        start = probabilities(torch.zeros(2, levels, dtype=torch.float64), self._curriculum.uniform).cumsum(0)
        world.add(Array("teacher_counts", "float64", (2, levels), "world", initial=0.0, doc="episodes and successes"))
        world.add(
            Array("teacher_chances", "float32", (levels,), "world", initial=start.float().numpy(), doc="of the levels")
        )
        world.add(Array("teacher_level", "int32", per="env", initial=0, on_reset="keep", doc="of the running episode"))
        world.add(Array("teacher_return", "float32", per="env", initial=0.0, doc="of the running episode"))
        for name in ("teacher_episodes", "teacher_successes"):
            world.add(Array(name, "int32", (levels,), "env", initial=0, doc="of the rollout that stands in the store"))
        recorded = (self._num_steps, world.num_envs)
        world.add(Array("rollout_teacher_level", "int32", recorded, "world"), kept="derived")
        world.record("teacher_level", "rollout_teacher_level", ROW)

    def _draws(self, index: int) -> list[RunKernel]:
        """Launches that draw the levels of envs that are reset, and set their parameters."""
        dtypes = per_env_dtypes(type(self._world.environment))
        step = self._functions.step
        sets = [
            step(SETTERS[dtypes[name]], index, active_only=True, given=(name, "teacher_level", *map(float, ends)))
            for name, ends in self._curriculum.parameters.items()
        ]
        return [step("draw_level", index, active_only=True), *sets]

    def _bind(self) -> None:
        world, curriculum = self._world, self._curriculum
        group = world.groups[str(curriculum.group)]
        masked = "rollout_agent_mask" in world.data
        mask = "rollout_agent_mask" if masked else "rollout_terminated"  # which is then not read
        rows = ("rollout_rewards", mask, masked, "rollout_terminated", "rollout_truncated", "rollout_teacher_level")
        counts = ("teacher_return", "teacher_episodes", "teacher_successes")
        sizes = (self._num_steps, world.num_envs, group.slice.start, group.size, curriculum.success)
        self.add_up = world.program([self._functions.step("note_episodes", index=0, given=(*rows, *counts, *sizes))])
        self._own = own_agents(world, self._slots)[:, group.slice.start].long()

    def teach(self) -> None:
        """Take in the episodes that were noted, and settle the probabilities of the next rollout's levels."""
        world, curriculum = self._world, self._curriculum
        noted = [world[name] for name in ("teacher_episodes", "teacher_successes")]
        found = torch.stack([(each * self._own[:, None]).sum(0) for each in noted]).double()
        counts = world["teacher_counts"]
        counts.mul_(curriculum.decay).add_(self._total(found))
        world["teacher_chances"].copy_(probabilities(counts, curriculum.uniform).cumsum(0))
        for each in noted:
            each.zero_()

    def metrics(self) -> dict[str, float]:
        """The mean level that is drawn, from 0 to 1; rates of success of all episodes, and in the hardest level."""
        counts = self._world["teacher_counts"].cpu()
        levels = len(counts[0])
        drawn = probabilities(counts, self._curriculum.uniform)
        episodes, successes = counts.sum(1).tolist()
        return {
            "curriculum/level": float((drawn * torch.arange(levels)).sum() / (levels - 1)),
            "curriculum/success": successes / episodes if episodes else float("nan"),
            "curriculum/success_hardest": float(rates_of(counts)[-1]),
        }
