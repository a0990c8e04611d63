"""Measurements that metrics are made of: they stay on the device until they are read, all at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from warpworld.config import RunConfig
from warpworld.errors import TrainingError
from warpworld.runs import UNREWARDED
from warpworld.trainers.collecting import EpisodeMetrics, EpisodeStatistics, Finished
from warpworld.trainers.processes import ProcessGroup
from warpworld.world import World

Metrics = dict[str, Any]


class Measurements:
    """The episodes that ended since the last report, and the latest diagnostics.

    Args:
        config: which policy plays which groups.
        world: whose groups these are.
        episodes: what adds up the rollouts' episodes.
        own: what adds up the environment's own metrics.
        processes: those that share the envs.
        captures: add up on the device as a CUDA graph, in place of some thirty small operations.
    """

    _sums: Tensor

    def __init__(
        self,
        config: RunConfig,
        world: World,
        episodes: EpisodeStatistics,
        own: EpisodeMetrics,
        processes: ProcessGroup,
        captures: bool,
    ) -> None:
        self._config, self._world, self._processes = config, world, processes
        self._episodes, self._own = episodes, own
        self._diagnostics: dict[str, Tensor] = {}
        self._charts: dict[str, Mapping[str, float]] = {}
        self._capture = world.capture_update if captures else lambda run, tensors: run
        self._add_up: Callable[[], None] | None = None  # once something was read
        self._held: Tensor | None = None

    def take(self, policy: str, diagnostics: Mapping[str, Tensor], charts: Mapping[str, float | Tensor]) -> None:
        """Keep what an update gave for a policy until the next update's numbers come."""
        self._diagnostics |= {f"losses/{policy}/{name}": value for name, value in diagnostics.items()}
        own = {f"charts/{policy}/{name}": value for name, value in charts.items()}
        self._diagnostics |= {name: value for name, value in own.items() if isinstance(value, Tensor)}
        self._charts[policy] = {name: value for name, value in own.items() if not isinstance(value, Tensor)}

    def begin(self) -> None:
        """Forget the episodes that have been reported."""
        self._episodes.begin()
        self._own.begin()

    def hold(self) -> None:
        """Add up what there is now, for the next ``read``, before which another rollout is recorded."""
        self._held = self._added_up().clone()

    def read(self) -> Metrics:
        """Wait for the device, once, and give the metrics; all processes together.

        Raises:
            TrainingError: a diagnostic is not finite, in all processes then.
        """
        held, self._held = self._held, None
        sums = self._processes.sum(self._added_up() if held is None else held)
        episodes, own = self._sizes
        names, values = list(self._diagnostics), list(self._diagnostics.values())
        numbers = torch.cat((sums, torch.stack(values).double())).tolist() if values else sums.tolist()
        diagnostics = dict(zip(names, numbers[len(sums) :], strict=True))
        _check_finite(diagnostics)
        metrics = self._of_episodes(Finished.of_sums(numbers[:episodes]))
        metrics |= self._own.of_sums(numbers[episodes : episodes + own])
        metrics |= self._unrewarded(numbers[episodes + own : len(sums)])
        for policy, charts in self._charts.items():
            starts = (f"losses/{policy}/", f"charts/{policy}/")
            metrics |= {name: value for name, value in diagnostics.items() if name.startswith(starts)}
            metrics |= charts
        return metrics

    def _added_up(self) -> Tensor:
        """Sums over episodes, of own metrics and of rewards that are not 0, on the device."""
        if self._add_up is None:
            self._sums = torch.empty_like(self._sums_now())
            self._add_up = self._capture(self._write_sums, tensors=[self._sums])
        self._add_up()
        return self._sums

    def _write_sums(self) -> None:
        self._sums.copy_(self._sums_now())

    def _sums_now(self) -> Tensor:
        parts = self._episodes.sums(), self._own.sums(), self._episodes.rewarded()
        self._sizes = len(parts[0]), len(parts[1])
        return torch.cat(parts)

    def _of_episodes(self, finished: Finished) -> Metrics:
        metrics: Metrics = {"charts/episodes": finished.count, "charts/episodic_length": finished.length}
        for name, entry in self._config.policy.items():
            agents = [self._world.groups[group].slice for group in entry.groups]
            metrics[f"charts/{name}/episodic_return"] = finished.mean_return(agents)
        return metrics

    def _unrewarded(self, rewarded: Sequence[float]) -> Metrics:
        """A number for each policy whose rollout held no reward but 0; ``rewarded`` has their count for each agent."""
        metrics: Metrics = {}
        for name, entry in self._config.policy.items():
            if not any(any(rewarded[self._world.groups[group].slice]) for group in entry.groups):
                metrics[UNREWARDED.format(name)] = 1
        return metrics


def _check_finite(diagnostics: Mapping[str, float]) -> None:
    """Stop before weights that are lost are saved over good ones."""
    for name, value in diagnostics.items():
        if not math.isfinite(value):
            _, policy, key = name.split("/")
            raise TrainingError(
                f"policy '{policy}': {key} is {value} after this update; the run's latest checkpoint is from before "
                "it. A lower learning_rate or max_grad_norm, or smaller rewards, may keep it finite"
            )
