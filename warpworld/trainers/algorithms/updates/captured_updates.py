"""Updates as CUDA graphs: what changes from one update to the next is read on the device."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from warpworld.policies import Policy, RecurrentPolicy, backward_from, variance_of
from warpworld.trainers.algorithms.experience import Experience
from warpworld.trainers.algorithms.settings import LossTerms
from warpworld.trainers.algorithms.targets import GAETargets, KernelEstimates, Targets
from warpworld.trainers.algorithms.updates.choice_loss import ChoiceLoss, choice_loss
from warpworld.trainers.algorithms.updates.device_inputs import DeviceInputs
from warpworld.trainers.algorithms.updates.gradients import minibatches_of
from warpworld.trainers.algorithms.updates.layer_backward import give_backward_kernels
from warpworld.trainers.algorithms.updates.minibatches import Epoch
from warpworld.trainers.algorithms.updates.update_parts import Part
from warpworld.trainers.algorithms.updates.updates import Learner, Updates
from warpworld.trainers.collecting import Collector
from warpworld.trainers.spans import LOSS, span
from warpworld.world import World

RATE = "learning_rate"


class CapturedUpdates(Updates):
    """Updates on a device that captures them.

    Args:
        learner: the algorithm.
        collector: of an unsealed world.
    """

    keeps_all = True

    def __init__(self, learner: Learner, collector: Collector) -> None:
        super().__init__(learner)
        world, settings = collector.world, learner.settings
        self._capture = world.capture_update if collector.graph_steps else None
        self._replay: Part | None = None  # the update, once there was one
        self._numbers = (RATE, *(name for name in settings.scheduled() if name != RATE))
        steps = 1 if isinstance(learner.policy, RecurrentPolicy) else collector.num_steps
        agents, draws = (
            world.num_envs * sum(world.groups[group].size for group in settings.groups),
            learner.segment_draws(),
        )
        needed = steps * agents if draws is None else draws.per_pass * agents
        self._inputs = DeviceInputs(collector, "_".join(settings.groups), needed, self._numbers)
        self._order = self._inputs.permutation if draws is None else self._inputs.uniform
        self._loss: ChoiceLoss | None = None
        self.estimates = [KernelEstimates(collector, group, settings) for group in settings.groups]

    def use_kernels(self, world: World) -> None:
        """Let kernels take losses and the way back through narrow layers; the world is not sealed."""
        self._loss = choice_loss(self.learner.policy, world)
        give_backward_kernels(self.learner.policy, world)

    # ---- on the host -------------------------------------------------------------------------------------------------
    def from_rollout(self, generator: torch.Generator) -> None:
        """Implement ``Updates``: as CUDA graphs from the second time on."""
        learner, (_, *scheduled) = self.learner, self._numbers
        self._inputs.write(generator, [learner.learning_rate, *(getattr(learner.now, name) for name in scheduled)])
        if self._replay is None:
            self._replay = self._captured()
        self._replay()

    def set_learning_rate(self, rate: float) -> None:
        """Leave the rate to ``from_rollout``, which writes it to the device."""

    def forget(self) -> None:
        """Capture again at the next update: what it writes lies elsewhere."""
        self._replay = None

    def _captured(self) -> Part:
        """The update, as graphs where they are wanted."""
        update = self._parts(self._begin_on_device, 1)
        return update.run if self._capture is None else update.captured(partial(self._capture, tensors=self._written()))

    def _written(self) -> list[Tensor]:
        """Tensors that an update writes, besides arrays of the store."""
        parameters, buffers = self.learner.parameters, self.learner.policy.buffers()
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

    def _gradients(self, rows: Experience, epoch: Epoch) -> Iterator[dict[str, Tensor]]:
        """Implement ``Updates``: with the loss of kernels, where there are such for it."""
        terms = self.learner.loss_terms()
        if self._loss is None or terms is None or not self._loss.takes(rows.rows):
            return super()._gradients(rows, epoch)
        return self._from_kernels(rows, epoch, self._loss, terms)

    def _from_kernels(
        self, rows: Experience, epoch: Epoch, loss: ChoiceLoss, terms: LossTerms
    ) -> Iterator[dict[str, Tensor]]:
        for minibatch in minibatches_of(rows, epoch):
            diagnostics: dict[str, Tensor] = {}
            if len(minibatch):
                with span(LOSS):
                    outputs, values = minibatch.evaluated(self.learner.policy)
                    *gradients, diagnostics = loss(outputs, values, minibatch.rows, terms)
                self.learner.parameters.gradient.zero_()
                backward_from((outputs, values), gradients)
            yield diagnostics

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

    def _variance(self, numbers: Tensor, less: Tensor | None = None) -> Tensor:
        """Implement ``Updates``, where nothing may be read to the host."""
        return variance_of(numbers if less is None else numbers - less)
