"""Kernels for whole passes over the rows of policies of two small perceptrons, see perceptron_passes.cu."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn

from warpworld.managers import Needs
from warpworld.policies import Categorical, Policy
from warpworld.policies.fused import DIAGNOSTICS
from warpworld.trainers.algorithms.experience import Batch, Experience
from warpworld.trainers.algorithms.parameters import Adam, FlatParameters
from warpworld.trainers.algorithms.settings import LossTerms
from warpworld.trainers.algorithms.updates.choice_loss import (
    FIGURES,
    MOMENTS,
    addresses_of,
    columns_of,
    numbers_of,
)
from warpworld.trainers.algorithms.updates.minibatches import Epoch
from warpworld.trainers.algorithms.updates.perceptron_shapes import Shape, shape_of
from warpworld.trainers.collecting import TensorKernels, needs_of
from warpworld.world import World

SOURCE = Path(__file__).resolve().parent / "perceptron_passes.cu"
MOST_PARTS = 256  # of a minibatch for a network: each gives sums of its own
# Few blocks: rows of more tiles for each are left to torch's products, which take all of a GPU.
ENOUGH_BLOCKS, MOST_TILES = 128, 16
MOST_ENVS, ROWS_OF_MOMENTS = 256, 2048  # that find a minibatch's moments at most, of so many rows at least
WAYS = 4  # threads that share a parameter of a sum, as perceptron_passes.cu has them
MOST_SUMS = 128  # that a minibatch's sums, and its steps, are divided into


def perceptron_kernels(policy: Policy, parameters: FlatParameters, world: World) -> PerceptronKernels | None:
    """Kernels for the gradients of a policy that acts by choices; None where its networks are others, or do not fit.

    Args:
        policy: on the world's device.
        parameters: of the policy.
        world: that is not sealed.
    """
    shape = shape_of(policy)
    if shape is None or not isinstance(policy.distribution, Categorical):
        return None
    layers = policy.model.actor_layers, policy.model.critic_layers
    wanted = [part for network in layers for part in network.parameters()]  # type: ignore[union-attr]
    if [id(part) for part in parameters.parts] != [id(part) for part in wanted]:
        return None  # some are not learnt
    return PerceptronKernels(world, policy, parameters, shape, policy.distribution.head_sizes)


@dataclass(frozen=True)
class AdamSteps:
    """Steps of a plain Adam that kernels take in an optimiser's place.

    Attributes:
        optimizer: with its moments, number of steps and rate on the device.
        rule: by which the rate follows the divergence: desired_kl, lowest, highest; None leaves it as it is.
        has_moved: whether steps were taken before from the rollout's rows.
    """

    optimizer: torch.optim.Optimizer
    rule: tuple[float, float, float] | None = None
    has_moved: bool = False

    def numbers(self, vector: nn.Parameter, rates: Tensor) -> list[float]:
        """Fields of the kernels' struct Adam."""
        group, state = self.optimizer.param_groups[0], self.optimizer.state[vector]
        held = [state["exp_avg"], state["exp_avg_sq"], state["step"], group["lr"]]
        places = [*(each.data_ptr() for each in held), 0 if self.rule is None else rates.data_ptr()]
        return [*places, *group["betas"], group["eps"], *(self.rule or (0.0, 0.0, 0.0)), self.has_moved]


NO_STEPS = [*[0] * 5, *[0.0] * 6, False]  # fields of the struct Adam without steps


def are_plain(optimizer: torch.optim.Optimizer, vector: nn.Parameter) -> bool:
    """Whether an optimiser is an Adam without other terms, which keeps all that it reads on the vector's device."""
    group, state = optimizer.param_groups[0], optimizer.state.get(vector)
    if type(optimizer) is not Adam or not state:
        return False
    is_plain = not any(group.get(name) for name in ("weight_decay", "amsgrad", "maximize"))
    held = [state["step"], group["lr"]]
    are_here = all(isinstance(each, Tensor) and each.device == vector.device for each in held)
    return is_plain and are_here and all(each.dtype == torch.float32 for each in held)


class PerceptronKernels(TensorKernels):
    """Gradients of the losses of PPO and A2C for minibatches of rows of choices, and Adam's steps along them.

    They differ from those of torch by the rounding of float32. Gradients are scaled down to a length.

    Args:
        world: that is not sealed.
        policy: whose gradients they are.
        parameters: of the policy, in order of the actor's and the critic's layers.
        shape: of its networks.
        head_sizes: number of choices of each head.
    """

    def __init__(
        self, world: World, policy: Policy, parameters: FlatParameters, shape: Shape, head_sizes: Sequence[int]
    ) -> None:
        equal = len(set(head_sizes)) == 1
        heads = {"LOGITS": sum(head_sizes), "NUM_HEADS": len(head_sizes), "HEAD_SIZE": head_sizes[0] if equal else 0}
        names = ["moments", "learn_passes"]
        super().__init__(world, SOURCE, {**shape.constants(), **heads}, names, shape.lanes, exactly=True)
        self._policy, self._parameters, self.shape = policy, parameters, shape
        self._head_sizes = torch.tensor(list(head_sizes), dtype=torch.int32, device=world.device)
        self._counters = torch.zeros(3, dtype=torch.int32, device=world.device)

    def takes(self, rows: Experience, epoch: Epoch) -> bool:
        """Whether the kernels compute the gradients of an epoch: of rows as a rollout records them, in float32."""
        if not isinstance(rows, Batch) or rows.evaluation is not None or not self.is_here(rows.actions):
            return False
        lengths = epoch.lengths[: len(epoch.lengths) // epoch.passes]
        total, count = sum(lengths), len(lengths)
        are_equal = lengths == [total // count + (part < total % count) for part in range(count)]
        is_plain = rows.observations.dtype == torch.float32 and rows.actions.dtype == torch.int32
        return are_equal and is_plain and not self._is_reduced() and self._is_enough(max(lengths))

    def _is_reduced(self) -> bool:
        """Whether torch's products would now be of less than float32, be it bfloat16 or TF32."""
        is_bf16 = torch.is_autocast_enabled(self._parameters.vector.device.type)
        return is_bf16 or torch.get_float32_matmul_precision() != "highest"

    def _is_enough(self, rows: int) -> bool:
        """Whether there are blocks enough for the rows of a minibatch."""
        blocks, tiles = min(2 * self._parts(rows), self.num_envs), 2 * -(-rows // self.shape.tile)
        return rows > 0 and (blocks >= ENOUGH_BLOCKS or tiles <= MOST_TILES * max(blocks, 2))

    def _parts(self, rows: int) -> int:
        """Parts of a minibatch that are taken by themselves, for each network."""
        return min(-(-rows // self.shape.tile), MOST_PARTS)

    def __call__(
        self, rows: Batch, epoch: Epoch, terms: LossTerms, longest: float
    ) -> Iterator[tuple[Tensor, dict[str, Tensor]]]:
        """Leave each minibatch's gradient in the parameters' ``grad``, and give its length and diagnostics.

        Args:
            rows: that the epoch shuffles.
            epoch: the minibatches; ``takes`` says yes to it.
            terms: of the loss.
            longest: length that the gradient is scaled down to.

        Yields:
            The length before, and ``DIAGNOSTICS`` by name, () float32 each.
        """
        learn = self._prepared(rows, epoch, terms, longest)
        for number in range(len(epoch.lengths)):
            found = learn(number, 1, NO_STEPS)[number]
            yield found[-1], dict(zip(DIAGNOSTICS, found.unbind(), strict=False))

    def steps(self, rows: Batch, epoch: Epoch, terms: LossTerms, longest: float, adam: AdamSteps) -> Tensor:
        """Take all steps of an epoch in one launch; arguments as of a call.

        Returns:
            (minibatches, 7) float32: of each its ``DIAGNOSTICS``, and its gradient's length.
        """
        count, vector = len(epoch.lengths), self._parameters.vector
        rates = vector.new_empty(count)
        return self._prepared(rows, epoch, terms, longest)(0, count, adam.numbers(vector, rates))

    def _prepared(
        self, rows: Batch, epoch: Epoch, terms: LossTerms, longest: float
    ) -> Callable[[int, int, Sequence[float]], Tensor]:
        """A function that takes some minibatches, from a number on, with fields of the struct Adam."""
        columns, seen = columns_of(rows), self._seen(rows)
        order = 0 if epoch.order is None else epoch.order.data_ptr()
        passes = (order, sum(epoch.lengths) // epoch.passes, len(epoch.lengths) // epoch.passes)
        moments = self._moments(columns, passes, len(epoch.lengths), terms, rows)
        # memory for what parts find, and for what is said of minibatches
        parts, of_moments = self._parts(max(epoch.lengths)), moments.shape[1]
        scratch, said = self._scratch(parts, len(epoch.lengths), rows.advantages)
        division = (parts, scratch[-1].numel(), self._dividing(1))
        most = longest if longest < math.inf else 0.0
        given = (self._parameters.gradient.data_ptr(), said.data_ptr(), most)
        data = (*addresses_of(columns), *addresses_of(seen), *passes, self._parameters.vector.data_ptr())
        found = (self._head_sizes.data_ptr(), *addresses_of(scratch))
        places = (*data, moments.data_ptr() if of_moments else 0, of_moments, *found, *given)
        terms_now = (*numbers_of(terms), self._counters.data_ptr())
        needs = self._needs(columns, seen, epoch)

        held = columns, seen, scratch, moments  # until the kernels are launched

        def learn(first: int, count: int, adam: Sequence[float], _: object = held) -> Tensor:
            numbers = (*places, *adam, first, count, *division, *terms_now)
            needed = Needs(*(count / len(epoch.lengths) * each for each in needs))
            self.launch("learn_passes", (), numbers, max(2 * parts, *division[1:]), needed)
            return said

        return learn

    def _needs(
        self, columns: Sequence[Tensor | None], seen: Sequence[Tensor | None], epoch: Epoch
    ) -> tuple[float, float, float]:
        """Operations, and bytes read and written, of an epoch: rows once a pass, parameters once a minibatch."""
        rows, vector, minibatches = sum(epoch.lengths), self._parameters.vector, len(epoch.lengths)
        weights = [sum(a * b for a, b in pairwise(widths)) for widths in (self.shape.actor, self.shape.critic)]
        first = [widths[0] * widths[1] for widths in (self.shape.actor, self.shape.critic)]
        flop = 2.0 * rows * (3 * sum(weights) - sum(first))  # the rows have no gradient
        read_once = [*columns, *(each for each in (seen[0], seen[3]) if each is not None)]
        of_pass = float(
            sum(each.nbytes for each in {id(each): each for each in read_once if each is not None}.values())
        )
        moved = 3.0 * vector.nbytes * minibatches  # with Adam's moments
        return flop, epoch.passes * of_pass + moved, moved

    def _seen(self, rows: Batch) -> list[Tensor | None]:
        """Tensors that the structs Seen of actor and critic point to."""
        normaliser = self._policy.normaliser
        of_actor: list[Tensor | None] = [rows.observations.contiguous(), None, None]
        if normaliser is not None:
            of_actor[1:] = [normaliser.mean.float(), normaliser.scale.float()]
        of_critic = of_actor if rows.critic_inputs is None else [rows.critic_inputs.contiguous(), None, None]
        return [*of_actor, *of_critic]

    def _moments(
        self,
        columns: Sequence[Tensor | None],
        passes: tuple[int, int, int],
        minibatches: int,
        terms: LossTerms,
        rows: Batch,
    ) -> Tensor:
        """Moments of each minibatch's advantages, and how many rows count: (minibatches, parts, ``MOMENTS``) float64.

        There are no parts where neither is asked for.
        """
        is_needed = terms.normalise_advantages or rows.mask is not None
        _, total, of_pass = passes
        parts = max(1, min(MOST_ENVS, -(-total // of_pass) // ROWS_OF_MOMENTS)) if is_needed else 0
        found = rows.advantages.new_empty(minibatches, parts, MOMENTS, dtype=torch.float64)
        if parts:
            numbers = (*addresses_of(columns), *passes, found.data_ptr(), minibatches, parts)
            read = [rows.advantages, rows.mask] * (minibatches // of_pass)
            self.launch("moments", (), numbers, parts * minibatches, needs_of(read, (found,)))
        return found

    def _scratch(self, parts: int, minibatches: int, like: Tensor) -> tuple[list[Tensor], Tensor]:
        """Memory for what parts find: of actor, of critic, figures, squares; and for what is said of minibatches."""
        of_networks = [like.new_empty(parts, size) for size in self.shape.sizes]
        figures = like.new_empty(2 * parts, FIGURES, dtype=torch.float64)
        squares = like.new_empty(self._dividing(WAYS), dtype=torch.float64)
        return [*of_networks, figures, squares], like.new_empty(minibatches, len(DIAGNOSTICS) + 1)

    def _dividing(self, lanes: int) -> int:
        """Blocks that share the parameters, of each of which so many lanes take care."""
        return min(-(-sum(self.shape.sizes) * lanes // self.shape.lanes), MOST_SUMS)
