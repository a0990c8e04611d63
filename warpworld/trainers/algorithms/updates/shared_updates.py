"""Updates of one process among several, whose rows count as if one process had them all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from warpworld.errors import ConfigError
from warpworld.trainers.algorithms.experience import Experience
from warpworld.trainers.algorithms.targets import ValueUnits
from warpworld.trainers.algorithms.updates.gradients import Gradients, Steps
from warpworld.trainers.algorithms.updates.learner import Learner
from warpworld.trainers.algorithms.updates.minibatches import Epoch, SharedMinibatches
from warpworld.trainers.algorithms.updates.updates import Updates


class SharedUpdates(Updates):
    """Updates in which processes add their gradients up: the weights stay the same in all of them, bit for bit.

    Each adds up what its own rows say, and one sum over all processes a minibatch makes it what a single process with
    all rows would have.

    Args:
        learner: the algorithm; its ``now`` leaves advantages as they are, since they are normalised here.
        gradients: computes the gradients of its minibatches.

    Raises:
        ConfigError: it draws segments, of which each process has some alone.
    """

    minibatches = SharedMinibatches

    def __init__(self, learner: Learner, gradients: Gradients) -> None:
        super().__init__(learner, gradients)
        if (draws := learner.segment_draws()) is not None:
            text = f"priority_alpha is {draws.alpha:g}, but {learner.processes.size} processes learn together"
            raise ConfigError(f"{text}, expected one, which draws from all segments; set priority_alpha=null")
        learner.now, parameters = self.settings_at(0), learner.parameters
        self._summed = parameters.vector.new_zeros(len(parameters.vector) + len(learner.loss_diagnostics))

    def settings_at(self, env_steps: int) -> Any:
        """Settings by which a loss leaves advantages as they are."""
        return super().settings_at(env_steps).model_copy(update={"norm_adv": False})

    def _passes_at_once(self, recomputes: bool) -> int:
        return 1

    def _follow(self, units: ValueUnits, experience: Experience) -> None:
        units.follow_together(experience, self.learner.processes)

    def _epoch(self, minibatches: SharedMinibatches, epoch: Epoch) -> Steps:  # type: ignore[override]
        normalises = self.learner.settings.norm_adv
        return partial(self._steps, minibatches.normalised(epoch) if normalises else minibatches.rows, epoch)

    def _step(self, diagnostics: dict[str, Tensor], share: float) -> dict[str, Tensor]:
        return super()._step(self._sum(diagnostics, share), share)

    def _sum(self, diagnostics: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
        """Make the gradient, and with it the diagnostics, those of all processes' rows of the minibatch.

        Both are means over rows, so that each process's count as much as its share of the rows.
        """
        gradient, names = self.learner.parameters.gradient, self.learner.loss_diagnostics
        if diagnostics:
            own = torch.stack([diagnostics[name] for name in names])
            torch.cat((gradient, own), out=self._summed).mul_(share)
        else:
            self._summed.zero_()
        self.learner.processes.sum(self._summed)
        gradient.copy_(self._summed[: len(gradient)])
        return dict(zip(names, self._summed[len(gradient) :].clone(), strict=True))

    def _variances(self, returns: Tensor, values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        both = torch.stack((returns - values, returns), 1)
        _, (unexplained, variance) = self.learner.processes.moments(both, self.passes.minibatches.num_rows)
        return unexplained, variance
