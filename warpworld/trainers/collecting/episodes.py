"""Returns and lengths of the episodes that end in rollouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from warpworld.environment import Array, Per
from warpworld.errors import StoreError
from warpworld.trainers.collecting.players import Slot, own_agents
from warpworld.world import World

EPISODES_SOURCE = Path(__file__).resolve().parent / "episodes.cu"
_RUNNING = ("episode_return", "episode_steps")
_FINISHED: tuple[tuple[str, str, Per], ...] = (
    ("finished_returns", "float64", "agent"),
    ("finished_steps", "int32", "env"),
    ("finished_episodes", "int32", "env"),
)


@dataclass(frozen=True)
class Finished:
    """Episodes that ended.

    Attributes:
        count: how many.
        returns: (num_agents,) float64, each agent's undiscounted return without the rows that do not count, mean over
            the episodes that its own policy played; NaN if there are none.
        length: mean length in steps; NaN if there are none.
        played: (num_agents,) float64, how many episodes each agent's own policy played.
    """

    count: int
    returns: Tensor
    length: float
    played: Tensor

    @staticmethod
    def of_sums(sums: Sequence[float]) -> Finished:
        """Statistics from ``EpisodeStatistics.sums`` on the host, also from the total of several processes."""
        count = int(sums[0])
        played, returns = torch.tensor(sums[2:], dtype=torch.float64).chunk(2)
        return Finished(count, returns / played, sums[1] / count if count else float("nan"), played)

    def mean_return(self, agents: Sequence[slice]) -> float:
        """Mean over the episodes and agents that a policy played: the agents of its groups; NaN if there are none."""
        returns, played = (torch.cat([of_all[part] for part in agents]) for of_all in (self.returns, self.played))
        return float((returns * played).nansum() / played.sum())


class EpisodeStatistics:
    """Adds up rewards over rollouts.

    What an unfinished episode has so far, and what has ended since ``begin``, is kept as state in the store, so that it
    is saved with the world. Create it after the world's ``Rollout``, whose rows it reads.

    Attributes:
        add_up: takes in the rollout that stands in the store; call it once for each, since unfinished episodes are
            carried on.

    Args:
        world: an unsealed world.
        num_steps: rows of a rollout.
        slots: ranges of envs in which an opponent plays some groups; their returns are left out.
        prefix: of the arrays' names, where a world has several such statistics.
    """

    def __init__(self, world: World, num_steps: int, slots: Sequence[Slot] = (), prefix: str = "") -> None:
        self._world, self._slots = world, slots
        names = [*_RUNNING, *(name for name, _, _ in _FINISHED)]
        self._names = {name: prefix + name for name in names}
        running, steps = (self._names[name] for name in _RUNNING)
        world.add(Array(running, "float32", initial=0.0, doc="rewards of the running episode"))
        world.add(Array(steps, "int32", per="env", initial=0, doc="steps of the running episode"))
        for name, dtype, per in _FINISHED:
            doc = "of the episodes that ended since the last report"
            world.add(Array(self._names[name], dtype, per=per, initial=0, doc=doc))
        aliases = self._names if prefix else {}
        self._functions = world.kernels(EPISODES_SOURCE, {}, scalars={"num_steps": num_steps}, aliases=aliases)
        self._functions.build([])
        self._kernel = "add_masked_episodes" if "rollout_agent_mask" in world.data else "add_episodes"
        self.add_up: Callable[[], None] = self._not_sealed
        world.when_sealed(self._bind)

    def _bind(self) -> None:
        """Bind the kernel to the sealed store."""
        world = self._world
        self.add_up = world.program([self._functions.step(self._kernel, index=0)])
        self._own = own_agents(world, self._slots)

    def _not_sealed(self) -> None:
        raise StoreError("there are no episodes to add up yet; call the world's reset() first")

    def begin(self) -> None:
        """Forget the episodes that have ended so far."""
        for name, _, _ in _FINISHED:
            self._world[self._names[name]].zero_()

    def drop_running(self) -> None:
        """Forget what the running episodes have so far."""
        for name in _RUNNING:
            self._world[self._names[name]].zero_()

    def sums(self, envs: slice = slice(None)) -> Tensor:
        """Sums over the episodes that ended since ``begin``: (2 + 2 * num_agents,) float64 on the device.

        Their number, their steps, and of those that each agent's own policy played, number and undiscounted returns,
        added up.

        Args:
            envs: in which they ended; all by default.
        """
        episodes, steps, returns = (self._of(f"finished_{name}")[envs] for name in ("episodes", "steps", "returns"))
        of_envs, own = [each.sum().double().reshape(1) for each in (episodes, steps)], self._own[envs]
        return torch.cat((*of_envs, (episodes[:, None] * own).sum(0), (returns * own).sum(0)))

    def _of(self, name: str) -> Tensor:
        """One of the arrays, by its name without prefix."""
        return self._world[self._names[name]]

    def rewarded(self) -> Tensor:
        """(num_agents,) float64 on the device: the rewards other than 0 in the rollout that stands in the store.

        Rows that do not count are left out, and so are those that an opponent plays.
        """
        world = self._world
        given = world["rollout_rewards"] != 0
        if "rollout_agent_mask" in world.data:
            given &= world["rollout_agent_mask"]
        return (given.sum(0) * self._own).sum(0)

    def finished(self) -> Finished:
        """Take in the rollout that stands in the store, read what has ended, and start again."""
        self.add_up()
        ended = Finished.of_sums(self.sums().tolist())
        self.begin()
        return ended
