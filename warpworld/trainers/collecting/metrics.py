"""The environment's own metrics: which there are, and what they come to over episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from warpworld.environment import METRICS, Array, Environment, Group
from warpworld.managers import RunKernel
from warpworld.trainers.collecting.outcomes import ROW
from warpworld.trainers.collecting.players import Slot, own_agents
from warpworld.world import World

METRICS_SOURCE = Path(__file__).resolve().parent / "metrics.cu"
_KERNELS = {"float32": "add_floats", "int32": "add_ints", "bool": "add_bools"}


@dataclass(frozen=True)
class OwnMetric:
    """A number that is logged.

    Attributes:
        name: ``env/<array>``, or ``env/<group>/<array>`` of an array per agent.
        array: what it is made of.
        group: whose agents it is the mean of; None for an array per env.
    """

    name: str
    array: Array
    group: Group | None = None


def own_metrics(environment: Environment, groups: Mapping[str, Group]) -> list[OwnMetric]:
    """The metrics that an environment's arrays declare."""
    found: list[OwnMetric] = []
    for array in environment.arrays():
        if array.metric is not None and array.per == "env":
            found.append(OwnMetric(f"env/{array.name}", array))
        elif array.metric is not None:
            found += [OwnMetric(f"env/{name}/{array.name}", array, group) for name, group in groups.items()]
    return found


@dataclass(frozen=True)
class _Sums:
    """Arrays of one metric: its rows, sums over the running episode and over those that ended, and their counts."""

    rows: Array
    running: Array
    steps: Array
    finished: Array
    episodes: Array


class EpisodeMetrics:
    """Adds the metrics up over rollouts.

    What an unfinished episode has so far, and what has ended since ``begin``, is kept as state in the store, so that it
    is saved with the world. Create it after what records the rollout's outcomes, whose rows it reads.

    Attributes:
        metrics: those that there are.
        add_up: takes in the rollout that stands in the store; call it once for each.

    Args:
        world: an unsealed world.
        num_steps: rows of a rollout.
        slots: ranges of envs in which opponents play some groups; their agents are left out.
    """

    def __init__(self, world: World, num_steps: int, slots: Sequence[Slot] = ()) -> None:
        self._world, self._num_steps, self._slots = world, num_steps, slots
        self.metrics = own_metrics(world.environment, world.groups)
        self._arrays = list({metric.array.name: metric.array for metric in self.metrics}.values())
        self.add_up: Callable[[], None] = lambda: None
        self._sums = {array.name: self._declare(array) for array in self._arrays}
        if self._arrays:
            self._functions = world.kernels(METRICS_SOURCE, {})
            self._functions.build([])
            world.when_sealed(self._bind)

    def _declare(self, array: Array) -> _Sums:
        world, name = self._world, array.name
        shape = (self._num_steps, *array.full_shape(world.num_envs, world.num_agents))
        rows = world.add(Array(f"rollout_metric_{name}", array.dtype, shape, per="world"), kept="derived")

        def add(own: str, dtype: str, doc: str) -> Array:
            return world.add(Array(own, dtype, per=array.per, initial=0, doc=doc))

        sums = _Sums(
            rows=rows,
            running=add(f"metric_{name}", "float64", "of the running episode"),
            steps=add(f"metric_{name}_rows", "int32", "steps that count in it"),
            finished=add(f"finished_metric_{name}", "float64", "of the episodes that ended"),
            episodes=add(f"finished_metric_{name}_episodes", "int32", "how many count in it"),
        )
        world.record(name, sums.rows.name, ROW)
        return sums

    def _bind(self) -> None:
        self.add_up = self._world.program([self._launch(array) for array in self._arrays])
        self._own = own_agents(self._world, self._slots)

    def _launch(self, array: Array) -> RunKernel:
        masked = array.per == "agent" and "rollout_agent_mask" in self._world.data
        rows = (
            "rollout_terminated",
            "rollout_truncated",
            "rollout_agent_mask" if masked else "rollout_terminated",  # which is then not read
            masked,
            self._num_steps,
            self._world.num_envs,
        )
        own, kind = self._sums[array.name], METRICS.index(array.metric or "mean")
        sums = own.running.name, own.steps.name, own.finished.name, own.episodes.name
        given = (own.rows.name, *rows, *sums, kind, array.per == "env")
        return self._functions.step(_KERNELS[array.dtype], index=0, given=given)

    def begin(self) -> None:
        """Forget the episodes that have ended so far."""
        for sums in self._sums.values():
            self._world[sums.finished].zero_()
            self._world[sums.episodes].zero_()

    def sums(self) -> Tensor:
        """Sums over the episodes that ended since ``begin``: (2 * metrics,) float64 on the device.

        Of each metric the sum over the episodes, and over the agents of the group that its own policy played, and how
        many these are.
        """
        parts = [part.sum() for metric in self.metrics for part in self._finished(metric)]
        return torch.stack(parts) if parts else torch.empty(0, dtype=torch.float64, device=self._world.device)

    def _finished(self, metric: OwnMetric) -> list[Tensor]:
        sums = self._sums[metric.array.name]
        parts = [self._world[sums.finished], self._world[sums.episodes].double()]
        if metric.group is None:
            return parts
        return [(part * self._own)[:, metric.group.slice] for part in parts]

    def of_sums(self, sums: Sequence[float]) -> dict[str, float]:
        """Means from ``sums`` on the host, also from the total of several processes; NaN of nothing."""
        pairs = zip(self.metrics, sums[::2], sums[1::2], strict=True)
        return {metric.name: total / count if count else float("nan") for metric, total, count in pairs}
