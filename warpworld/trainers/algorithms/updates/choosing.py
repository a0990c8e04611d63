"""Choice of how an on-policy algorithm's updates are executed: the only place of ``updates`` that asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from warpworld.policies.fused import fused_gradient
from warpworld.trainers.algorithms.updates.box_loss import row_loss
from warpworld.trainers.algorithms.updates.captured_updates import CapturedUpdates
from warpworld.trainers.algorithms.updates.gradients import ByAutograd, Gradients, InCpp
from warpworld.trainers.algorithms.updates.kernel_gradients import ByKernels
from warpworld.trainers.algorithms.updates.layer_backward import give_backward_kernels
from warpworld.trainers.algorithms.updates.learner import Learner
from warpworld.trainers.algorithms.updates.loss_terms import terms_of
from warpworld.trainers.algorithms.updates.one_kernel import in_one_kernel
from warpworld.trainers.algorithms.updates.optimizer_steps import give_steps
from warpworld.trainers.algorithms.updates.shared_updates import SharedUpdates
from warpworld.trainers.algorithms.updates.together import Together
from warpworld.trainers.algorithms.updates.updates import Updates
from warpworld.trainers.collecting import Collector


def choose_updates(learner: Learner, collector: Collector | None = None) -> Updates:
    """Choose what does a learner's updates.

    Args:
        learner: the algorithm; its policy is fused already where it is to be.
        collector: of an unsealed world, whose rollouts it learns from; None for rows from elsewhere.
    """
    if learner.processes.several:
        return SharedUpdates(learner, _gradients_on_host(learner))
    if collector is None or not collector.world.captures:
        return Updates(learner, _gradients_on_host(learner))
    capture = collector.world.capture_update if collector.graph_steps else _as_it_is
    return CapturedUpdates(learner, _gradients_on_device(learner, collector), collector, capture)


def _gradients_on_host(learner: Learner) -> Gradients:
    """In C++ if the policy's networks and the loss are there; else by torch."""
    networks = fused_gradient(learner.policy)
    if networks is None or learner.loss_terms() is None:
        return ByAutograd(learner)
    return InCpp(learner, networks, terms_of(learner))


def _gradients_on_device(learner: Learner, collector: Collector) -> Gradients:
    """By kernels, where there are such and they are wanted: for all of it, or for losses and the way back by layers."""
    if not collector.uses_kernels:
        return ByAutograd(learner)
    world, policy = collector.world, learner.policy
    give_backward_kernels(policy, world)
    give_steps(learner.parameters, world)
    loss = row_loss(policy, world)
    if loss is None or learner.loss_terms() is None:
        return ByAutograd(learner)
    terms = terms_of(learner)
    launches = collector.shared(Together).launches
    return in_one_kernel(learner, ByKernels(learner, loss, terms), terms, launches, collector.is_reduced)


def _as_it_is(run: Callable[[], None], tensors: Sequence[Tensor]) -> Callable[[], None]:
    """A part of an update without a CUDA graph."""
    return run
