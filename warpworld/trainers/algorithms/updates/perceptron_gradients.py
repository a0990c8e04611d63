"""Kernels for the gradients of policies of two small perceptrons, see perceptron_gradients.cu."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import torch
from torch import Tensor

from warpworld.policies import Categorical, Policy
from warpworld.policies.fused import DIAGNOSTICS
from warpworld.trainers.algorithms.experience import Batch, Experience
from warpworld.trainers.algorithms.parameters import FlatParameters
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
from warpworld.trainers.collecting import TensorKernels
from warpworld.world import World

SOURCE = Path(__file__).resolve().parent / "perceptron_gradients.cu"
MOST_ENVS = 256  # that work for a network: each gives sums of its own
# Few envs are few blocks: rows of more tiles for each are left to torch's products, which take all of a GPU.
ENOUGH_ENVS, MOST_TILES = 64, 16
ROWS_OF_MOMENTS = 2048  # whose moments an env finds at least
WAYS = 4  # threads that share a parameter of a sum, as perceptron_gradients.cu has them


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


class PerceptronKernels(TensorKernels):
    """Gradients of the losses of PPO and A2C for minibatches of rows of choices, scaled down to a length.

    They differ from those of torch by the rounding of float32.

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
        names = ["moments", "gradients", "add_up", "limit"]
        super().__init__(world, SOURCE, {**shape.constants(), **heads}, names, shape.lanes, exactly=True)
        self._policy, self._parameters, self.shape = policy, parameters, shape
        self._head_sizes = torch.tensor(list(head_sizes), dtype=torch.int32, device=world.device)

    def takes(self, rows: Experience, epoch: Epoch) -> bool:
        """Whether the kernels compute the gradients of an epoch: of rows as a rollout records them, in float32."""
        if not isinstance(rows, Batch) or rows.evaluation is not None or not self.is_here(rows.actions):
            return False
        total, count = sum(epoch.lengths), len(epoch.lengths)
        are_equal = epoch.lengths == [total // count + (part < total % count) for part in range(count)]
        is_plain = rows.observations.dtype == torch.float32 and rows.actions.dtype == torch.int32
        return are_equal and is_plain and not self._is_reduced() and self._is_enough(max(epoch.lengths))

    def _is_reduced(self) -> bool:
        """Whether torch's products would now be of less than float32, be it bfloat16 or TF32."""
        is_bf16 = torch.is_autocast_enabled(self._parameters.vector.device.type)
        return is_bf16 or torch.get_float32_matmul_precision() != "highest"

    def _is_enough(self, rows: int) -> bool:
        """Whether there are blocks enough for the rows of a minibatch."""
        envs = self._envs(rows)
        return rows > 0 and (envs >= ENOUGH_ENVS or -(-rows // self.shape.tile) <= MOST_TILES * envs)

    def _envs(self, rows: int) -> int:
        """Envs that work for each network."""
        return min(-(-rows // self.shape.tile), MOST_ENVS, max(1, self.num_envs // 2))

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
        columns, seen = columns_of(rows), self._seen(rows)  # held until the kernels are launched
        order = 0 if epoch.order is None else epoch.order.data_ptr()
        moments = self._moments(addresses_of(columns), order, epoch.lengths, terms, rows)
        scratch, said = self._scratch(rows, epoch.lengths)
        vector = self._parameters.vector.data_ptr()
        scalars = (self._head_sizes.data_ptr(), *(each.data_ptr() for each in scratch[:-1]))
        firsts = accumulate(epoch.lengths, initial=0)
        for first, count, found, own in zip(firsts, epoch.lengths, said, moments, strict=False):
            envs = self._envs(count)
            places = (order, first, count, vector, own.data_ptr() if len(own) else 0, *scalars)
            given = (*addresses_of(columns), *addresses_of(seen), *places, *numbers_of(terms), len(own))
            self.launch("gradients", (), given, 2 * envs if self.num_envs > 1 else 1)
            self._add_up(scratch, found, envs, longest)
            yield found[-1], dict(zip(DIAGNOSTICS, found.unbind(), strict=False))

    def _seen(self, rows: Batch) -> list[Tensor | None]:
        """Tensors that the structs Seen of actor and critic point to."""
        normaliser = self._policy.normaliser
        of_actor: list[Tensor | None] = [rows.observations.contiguous(), None, None]
        if normaliser is not None:
            of_actor[1:] = [normaliser.mean.float(), normaliser.scale.float()]
        of_critic = of_actor if rows.critic_inputs is None else [rows.critic_inputs.contiguous(), None, None]
        return [*of_actor, *of_critic]

    def _moments(
        self, data: Sequence[int], order: int, lengths: Sequence[int], terms: LossTerms, rows: Batch
    ) -> Tensor:
        """Moments of each minibatch's advantages, and how many rows count: (minibatches, parts, ``MOMENTS``) float64.

        There are no parts where neither is asked for.
        """
        is_needed = terms.normalise_advantages or rows.mask is not None
        parts = max(1, min(MOST_ENVS, max(lengths) // ROWS_OF_MOMENTS)) if is_needed else 0
        found = rows.advantages.new_empty(len(lengths), parts, MOMENTS, dtype=torch.float64)
        if parts:
            numbers = (*data, order, found.data_ptr(), sum(lengths), len(lengths), parts)
            self.launch("moments", (), numbers, parts * len(lengths))
        return found

    def _scratch(self, rows: Batch, lengths: Sequence[int]) -> tuple[list[Tensor], Tensor]:
        """Memory for what envs find: of actor, of critic, figures, squares; and for what is said of minibatches."""
        envs, like = self._envs(max(lengths)), rows.advantages
        of_networks = [like.new_empty(envs, size) for size in self.shape.sizes]
        figures = like.new_empty(2 * envs, FIGURES, dtype=torch.float64)
        squares = like.new_empty(self._adding, dtype=torch.float64)
        return [*of_networks, figures, squares], like.new_empty(len(lengths), len(DIAGNOSTICS) + 1)

    @property
    def _adding(self) -> int:
        """Envs that add up what others found."""
        return min(-(-sum(self.shape.sizes) * WAYS // self.shape.lanes), self.num_envs)

    def _add_up(self, scratch: Sequence[Tensor], found: Tensor, envs: int, longest: float) -> None:
        """Add up what so many envs found for each network, and scale the gradient down."""
        of_networks, squares = [each.data_ptr() for each in scratch[:-1]], scratch[-1].data_ptr()
        gradient = self._parameters.gradient.data_ptr()
        self.launch("add_up", (), (*of_networks, gradient, squares, found.data_ptr(), envs), self._adding)
        most = longest if longest < math.inf else 0.0
        self.launch("limit", (), (gradient, squares, found[-1].data_ptr(), most, self._adding), self._adding)
