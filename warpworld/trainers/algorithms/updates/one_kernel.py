"""Gradients of whole minibatches by a kernel, where CUDA graphs are captured and such networks have one."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from warpworld.policies import RecurrentPolicy
from warpworld.trainers.algorithms.experience import Experience
from warpworld.trainers.algorithms.updates.gradients import Gradients, Steps
from warpworld.trainers.algorithms.updates.joint_passes import PassLaunches
from warpworld.trainers.algorithms.updates.learner import Learner, Terms
from warpworld.trainers.algorithms.updates.minibatches import Epoch
from warpworld.trainers.algorithms.updates.optimizer_steps import KernelSteps, are_plain
from warpworld.trainers.algorithms.updates.pass_kernels import PassKernels
from warpworld.trainers.algorithms.updates.perceptron_passes import perceptron_kernels
from warpworld.trainers.algorithms.updates.sequence_passes import sequence_kernels


def in_one_kernel(
    learner: Learner, others: Gradients, terms: Terms, launches: PassLaunches, is_reduced: bool = False
) -> Gradients:
    """Gradients by a kernel if there is one for the learner's policy, and else the others.

    Args:
        learner: the algorithm.
        others: computes gradients without that kernel.
        terms: of the present loss.
        launches: of the world's policies.
        is_reduced: whether networks multiply in bfloat16.
    """
    given = learner.policy, learner.parameters, launches
    kernels: PassKernels | None = None if is_reduced else perceptron_kernels(*given)
    if kernels is None and (is_reduced or isinstance(learner.policy, RecurrentPolicy)):
        kernels = sequence_kernels(*given, is_reduced)
    return others if kernels is None else InOneKernel(learner, others, terms, kernels)


class InOneKernel(Gradients):
    """Computes whole gradients in a kernel, or takes all steps of passes in one, for rows that it takes.

    Args:
        learner: the algorithm.
        others: computes the gradients of other rows.
        terms: of its present loss.
        kernels: of the gradient.
    """

    def __init__(self, learner: Learner, others: Gradients, terms: Terms, kernels: PassKernels) -> None:
        super().__init__(learner)
        self._others, self._terms, self._kernels = others, terms, kernels

    def steps(self, rows: Experience, epoch: Epoch) -> Steps | None:
        """Implement ``Gradients``, where Adam's or Muon's steps are the kernel's."""
        learner, parameters, rate = self.learner, self.learner.parameters, self.learner.rate
        is_able = learner.passes_in_cpp and are_plain(parameters.optimizer, parameters.vector)
        if not is_able or not self._kernels.takes(rows, epoch):
            return None
        rule = None if rate is None else (rate.rule.desired_kl, rate.rule.lowest, rate.rule.highest)
        steps = KernelSteps(parameters.optimizer, self._kernels.moves, rule, rate is not None and rate.has_moved)
        if rate is not None:
            rate.has_moved = True
        return self._kernels.steps(rows, epoch, self._terms(), learner.settings.max_grad_norm, steps)

    def passes_at_once(self, wanted: int) -> int:
        """Implement ``Gradients``: all of them."""
        return wanted if self.learner.passes_in_cpp else 1

    def __call__(self, rows: Experience, epoch: Epoch) -> Iterator[dict[str, Tensor]]:
        """Implement ``Gradients``."""
        if not self._kernels.takes(rows, epoch):
            self.norm = None
            yield from self._others(rows, epoch)
            return
        longest = self.learner.settings.max_grad_norm
        for norm, diagnostics in self._kernels(rows, epoch, self._terms(), longest):
            self.norm = norm
            yield diagnostics
