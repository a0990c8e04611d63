"""Updates as CUDA graphs: what changes from one update to the next is read on the device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from warpworld.policies import Policy, RecurrentPolicy
from warpworld.trainers.algorithms.experience import Experience
from warpworld.trainers.algorithms.parameters import KLPenalty
from warpworld.trainers.algorithms.targets import GAETargets, KernelEstimates, Targets
from warpworld.trainers.algorithms.updates.device_inputs import DeviceInputs
from warpworld.trainers.algorithms.updates.gradients import Gradients, Steps
from warpworld.trainers.algorithms.updates.learner import Learner
from warpworld.trainers.algorithms.updates.minibatches import KeptMinibatches
from warpworld.trainers.algorithms.updates.segments import KeptSegments
from warpworld.trainers.algorithms.updates.summaries import Summariser, Summary
from warpworld.trainers.algorithms.updates.together import Together
from warpworld.trainers.algorithms.updates.update_parts import Part
from warpworld.trainers.algorithms.updates.updates import Updates
from warpworld.trainers.collecting import Collector

RATE = "learning_rate"


class Capture(Protocol):
    """Gives a function that does what a part of an update does."""

    def __call__(self, run: Part, tensors: Sequence[Tensor]) -> Part:
        """Return the part as a CUDA graph, or as it is; ``tensors`` are those that it writes besides the store."""


class CapturedUpdates(Updates):
    """Updates on a device that captures them.

    Args:
        learner: the algorithm.
        gradients: computes the gradients of its minibatches.
        collector: of an unsealed world.
        capture: gives the CUDA graph of a part of an update, and is given the tensors that it writes.
    """

    minibatches = KeptMinibatches
    segments = KeptSegments

    def __init__(self, learner: Learner, gradients: Gradients, collector: Collector, capture: Capture) -> None:
        super().__init__(learner, gradients)
        world, settings = collector.world, learner.settings
        self._capture = capture
        self._replay: Part | None = None  # the update, once there was one
        self._numbers = (RATE, *(name for name in settings.scheduled() if name != RATE))
        steps = 1 if isinstance(learner.policy, RecurrentPolicy) else collector.num_steps
        agents = world.num_envs * sum(world.groups[group].size for group in settings.groups)
        draws = learner.segment_draws()
        needed = steps * agents if draws is None else draws.per_pass * agents
        self._at_once = self._passes_at_once(learner.recomputes_targets) if draws is None else 1
        self.name = "_".join(settings.groups)
        self._inputs = DeviceInputs(collector, self.name, needed, self._numbers, self._at_once)
        self._together = collector.shared(Together)
        self._summariser = Summariser(self._together.summaries, self.passes, self._found)
        if not learner.may_end_early:  # between whose passes the host reads
            self._together.add(self)
        self._order = self._inputs.permutation if draws is None else self._inputs.uniform
        self.estimates = [KernelEstimates(collector, group, settings) for group in settings.groups]

    # ---- on the host -------------------------------------------------------------------------------------------------
    def from_rollout(self, generator: torch.Generator) -> None:
        """Implement ``Updates``: as CUDA graphs from the second time on, in one with others' where they can be."""
        learner, (_, *scheduled) = self.learner, self._numbers
        numbers = [learner.learning_rate, *(getattr(learner.now, name) for name in scheduled)]
        words = self._inputs.words(generator, numbers)
        if self._together.takes(self, words):
            return
        self._inputs.write(torch.from_numpy(words))
        if self._replay is None:
            self._replay = self._captured()
        self._replay()

    def set_learning_rate(self, rate: float) -> None:
        """Leave the rate to ``from_rollout``, which writes it to the device."""

    def _coefficient(self, penalty: KLPenalty) -> Tensor:
        """Implement ``Updates``: the tensor, which a graph reads."""
        return penalty.coefficient

    def forget(self) -> None:
        """Capture again at the next update: what it writes lies elsewhere."""
        self._replay = None
        self._together.forget()

    def begin_with(self, words: Tensor) -> None:
        """Implement ``Joined``."""
        self._inputs.write(words)

    def begin(self) -> Steps | None:
        """Implement ``Joined``."""
        self._begin_on_device()
        return self._begin_pass(self._at_once)

    def make_passes(self, steps: Steps | None) -> Summary | None:
        """Implement ``Joined``."""
        self._parts(partial(self._end_pass, steps, self._at_once), self._at_once).make_passes()
        return self._summary() if self.passes.minibatches.total and self._summariser.is_able else None

    def end(self, summary: Summary | None) -> None:
        """Implement ``Joined``."""
        if summary is None:
            self._end()
        else:
            self._take_in()

    def _captured(self) -> Part:
        """The update, as graphs where they are wanted."""
        parts = self._parts(self._first(self._begin_on_device, self._at_once), self._at_once)
        return parts.captured(partial(self._capture, tensors=self.written()))

    def written(self) -> list[Tensor]:
        """Implement ``Joined``."""
        parameters, buffers = self.learner.parameters, [*self.learner.policy.buffers()]
        if self.learner.penalty is not None:
            buffers.append(self.learner.penalty.coefficient)
        if self.learner.average is not None:
            buffers += self.learner.average.tensors()
        return [*parameters.tensors(), parameters.rate_on_device(), *self.passes.tensors(), self._found, *buffers]

    # ---- within an update --------------------------------------------------------------------------------------------
    def _begin_on_device(self) -> None:
        """Begin an update: settings that change, and permutations of rows, are read on the device."""
        learner, numbers = self.learner, self._inputs.numbers()
        rate, wanted = learner.parameters.rate_on_device(), numbers.pop(RATE)
        if learner.rate is None:
            rate.copy_(wanted)
        learner.now = learner.now.model_copy(update=numbers)
        self._begin_with_rollout(self._order)

    def _experience(self, targets: Targets) -> Experience:
        if isinstance(targets, GAETargets) and not targets.recomputes and self._takes_one_step:
            return targets.evaluated_once()
        return targets.experience()

    @property
    def _takes_one_step(self) -> bool:
        """Whether the networks' outputs that targets are made from serve the loss, too."""
        policy, learner = self.learner.policy, self.learner
        is_single = learner.num_epochs == learner.settings.num_minibatches == 1
        is_plain = type(policy) is Policy and policy.critic_input is None and policy.central is None
        return is_single and is_plain and policy.value_scale is None

    # ---- diagnostics -------------------------------------------------------------------------------------------------
    def _note(self, found: Tensor, count: int) -> None:
        """Implement ``Updates`` by a kernel."""
        if self._summariser.is_able:
            self._summariser.note(found, count, count == self.learner.num_epochs)
        else:
            super()._note(found, count)

    def _summarise(self) -> None:
        """Implement ``Updates`` by a kernel."""
        if self._summariser.is_able:
            self._together.summaries([self._summary()])
        else:
            super()._summarise()

    def _summary(self) -> Summary:
        """Diagnostics of the present update, for the kernel."""
        rows = self.passes.minibatches.single_rows
        return self._summariser.of_rows(rows.returns, self.learner.units.of_values(rows.values), rows.mask)
