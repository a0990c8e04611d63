"""What one of several processes sends in an iteration, counted while a config's own trainer makes it."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from warpworld.config import load_config
from warpworld.trainers.processes.distributed import ProcessGroup
from warpworld.trainers.trainer import Trainer


@dataclass(frozen=True)
class CountingGroup(ProcessGroup):
    """The first of two processes, of which the second is not there: it counts what it would send.

    Attributes:
        sent: bytes of each call so far.
    """

    sent: list[int] = field(default_factory=list)

    def _count(self, tensor: Tensor) -> Tensor:
        self.sent.append(tensor.numel() * tensor.element_size())
        return tensor

    def sum(self, tensor: Tensor) -> Tensor:
        """What this process has."""
        return self._count(tensor)

    smallest = largest = first_says = sum

    def stack(self, tensor: Tensor) -> Tensor:
        """This process's tensor, as if the other had the same."""
        return self._count(tensor).expand(2, *tensor.shape)

    def gather(self, tensor: Tensor, lengths: list[int]) -> list[Tensor]:
        """This process's bytes of a checkpoint, and others' that mean nothing."""
        return [tensor, *(tensor.new_zeros(length) for length in lengths[1:])]


@dataclass(frozen=True)
class Traffic:
    """What one process contributes in an iteration.

    Attributes:
        config: which run.
        parameters: of all policies that are trained.
        calls: sums and the like.
        total: bytes of all of them.
        largest: bytes of the largest.
    """

    config: str
    parameters: int
    calls: int
    total: int
    largest: int


def traffic(name: str, *overrides: str) -> Traffic:
    """Count the second iteration of a config on the CPU; the first may do more, such as reading what is logged."""
    sizes = load_config(name, overrides).trainer
    steps = 3 * sizes.num_envs * sizes.num_steps
    quiet = (f"total_env_steps={steps}", "log_every=1000", "checkpoint_every=1000", "trainer.device=cpu")
    group, ends = CountingGroup(size=2, local_size=2), list[int]()
    trainer = Trainer(load_config(name, [*overrides, *quiet]), processes=group)
    _learn_at_once(trainer)
    trainer.train(None, on_iteration=lambda metrics: ends.append(len(group.sent)), stop=lambda: len(ends) == 2)
    sent = group.sent[ends[0] : ends[1]]
    learnt = [trainer.policies[policy] for policy in trainer.algorithms]
    parameters = sum(weight.numel() for policy in learnt if policy is not None for weight in policy.parameters())
    return Traffic(name, parameters, len(sent), sum(sent), max(sent))


def _learn_at_once(trainer: Trainer) -> None:
    """Let algorithms that first fill a replay learn in the first iteration already."""
    for algorithm in trainer.algorithms.values():
        if "learning_starts" in type(algorithm.settings).model_fields:
            algorithm.settings = algorithm.settings.model_copy(update={"learning_starts": 0})
