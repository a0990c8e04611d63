"""Choice of how an off-policy algorithm's updates are run: by Python, or as CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from torch import Tensor

from warpworld.trainers.algorithms.parameters import FlatParameters
from warpworld.trainers.algorithms.updates.optimizer_steps import give_steps
from warpworld.trainers.collecting import Collector
from warpworld.trainers.processes import ProcessGroup

Update = Callable[[], None]


class Hold(Protocol):
    """Gives a function that does what an update does."""

    def __call__(
        self, update: Update, learnt: Sequence[FlatParameters], written: Callable[[], Sequence[Tensor]]
    ) -> Update:
        """Return the update as it is run from now on.

        Args:
            update: puts work on the device.
            learnt: what it takes steps of.
            written: gives the tensors that it writes besides the store's.
        """


def choose_hold(collector: Collector, processes: ProcessGroup, learnt: Iterable[FlatParameters]) -> Hold:
    """Execution of updates: as CUDA graphs where the device has such and no other process takes part.

    Args:
        collector: of an unsealed world.
        processes: those that learn together.
        learnt: what steps are taken of; kernels take them where they are wanted.
    """
    world = collector.world
    for parameters in learnt if collector.uses_kernels else ():
        give_steps(parameters, world)

    def as_it_is(update: Update, learnt: Sequence[FlatParameters], written: Callable[[], Sequence[Tensor]]) -> Update:
        return update

    def on_device(update: Update, learnt: Sequence[FlatParameters], written: Callable[[], Sequence[Tensor]]) -> Update:
        for parameters in learnt:  # also where nothing is captured, so that both ways round alike
            parameters.rate_on_device()
            parameters.tensors()  # moments that a kernel finds in the first step
        return update

    def captured(update: Update, learnt: Sequence[FlatParameters], written: Callable[[], Sequence[Tensor]]) -> Update:
        return world.capture_update(on_device(update, learnt, written), written())

    if not world.captures:
        return as_it_is
    return captured if collector.graph_steps and not processes.several else on_device
