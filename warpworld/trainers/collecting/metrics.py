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
        for array in self._arrays:
            self._declare(array)
        if self._arrays:
            self._functions = world.kernels(METRICS_SOURCE, {})
            self._functions.build([])
            world.when_sealed(self._bind)

    def _declare(self, array: Array) -> None:
        world, name = self._world, array.name
        shape = (self._num_steps, *array.full_shape(world.num_envs, world.num_agents))
        world.add(Array(f"rollout_metric_{name}", array.dtype, shape, per="world"), kept="derived")
        world.record(name, f"rollout_metric_{name}", ROW)
        world.add(Array(f"metric_{name}", "float64", per=array.per, initial=0.0, doc="of the running episode"))
        world.add(Array(f"metric_{name}_rows", "int32", per=array.per, initial=0, doc="steps that count in it"))
        finished = f"finished_metric_{name}"
        world.add(Array(finished, "float64", per=array.per, initial=0.0, doc="of the episodes that ended"))
        world.add(Array(f"{finished}_episodes", "int32", per=array.per, initial=0, doc="how many count in it"))

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
        name, kind = array.name, METRICS.index(array.metric or "mean")
        sums = (f"metric_{name}", f"metric_{name}_rows", f"finished_metric_{name}", f"finished_metric_{name}_episodes")
        given = (f"rollout_metric_{name}", *rows, *sums, kind, array.per == "env")
        return self._functions.step(_KERNELS[array.dtype], index=0, given=given)

    def begin(self) -> None:
        """Forget the episodes that have ended so far."""
        for array in self._arrays:
            for name in (f"finished_metric_{array.name}", f"finished_metric_{array.name}_episodes"):
                self._world[name].zero_()

    def sums(self) -> Tensor:
        """Sums over the episodes that ended since ``begin``: (2 * metrics,) float64 on the device.

        Of each metric the sum over the episodes, and over the agents of the group that its own policy played, and how
        many these are.
        """
        parts = [part.sum() for metric in self.metrics for part in self._finished(metric)]
        return torch.stack(parts) if parts else torch.empty(0, dtype=torch.float64, device=self._world.device)

    def _finished(self, metric: OwnMetric) -> list[Tensor]:
        name = f"finished_metric_{metric.array.name}"
        parts = [self._world[name], self._world[f"{name}_episodes"].double()]
        if metric.group is None:
            return parts
        return [(part * self._own)[:, metric.group.slice] for part in parts]

    def of_sums(self, sums: Sequence[float]) -> dict[str, float]:
        """Means from ``sums`` on the host, also from the total of several processes; NaN of nothing."""
        pairs = zip(self.metrics, sums[::2], sums[1::2], strict=True)
        return {metric.name: total / count if count else float("nan") for metric, total, count in pairs}
