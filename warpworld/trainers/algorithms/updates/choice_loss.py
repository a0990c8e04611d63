"""Kernels for the losses of policies that act by choices, see choice_loss.cu."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from warpworld.policies import Categorical, Policy
from warpworld.policies.fused import DIAGNOSTICS
from warpworld.trainers.algorithms.experience import NORM_EPS, Batch
from warpworld.trainers.algorithms.settings import LossTerms
from warpworld.trainers.collecting import TensorKernels, needs_of
from warpworld.world import World

SOURCE = Path(__file__).resolve().parent / "choice_loss.cu"
MOST_SHARED = 11_000  # numbers of float32 in a block's shared memory, besides sums
MOST_ENVS = 1024  # that work: each of their blocks reads what all of them found
MOMENTS, FIGURES = 3, 8  # numbers that an env gives, as choice_loss.cu has them


def choice_loss(policy: Policy, world: World) -> ChoiceLoss | None:
    """Kernels for the loss of a policy that acts by choices; None where the choices of some rows fit in no block.

    Args:
        policy: on the world's device.
        world: that is not sealed.
    """
    distribution = policy.distribution
    if type(distribution) is not Categorical:
        return None
    lanes = next((n for n in (128, 64, 32) if n * (distribution.num_outputs | 1) <= MOST_SHARED), None)
    return None if lanes is None else ChoiceLoss(world, distribution.head_sizes, lanes)


class ChoiceLoss(TensorKernels):
    """The losses of PPO and A2C for rows of choices, with their gradients at logits and values.

    They differ from those of ``ppo_loss`` and ``a2c_loss`` by the rounding of float32.

    Args:
        world: that is not sealed.
        head_sizes: number of choices of each head.
        lanes: rows that a block takes at once, a power of two.
    """

    def __init__(self, world: World, head_sizes: Sequence[int], lanes: int) -> None:
        equal = len(set(head_sizes)) == 1
        sizes = {"LOGITS": sum(head_sizes), "NUM_HEADS": len(head_sizes), "HEAD_SIZE": head_sizes[0] if equal else 0}
        super().__init__(world, SOURCE, {**sizes, "LANES": lanes}, ["moments", "losses", "diagnose"], lanes)
        self._head_sizes = torch.tensor(list(head_sizes), dtype=torch.int32, device=world.device)
        self._lanes = lanes

    def takes(self, rows: Batch) -> bool:
        """Whether the kernels compute the loss of rows: with choices as a rollout records them."""
        return rows.actions.dtype == torch.int32 and self.is_here(rows.actions)

    def __call__(
        self, outputs: Tensor, values: Tensor, rows: Batch, terms: LossTerms
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Gradients of the loss at outputs and values, and its diagnostics.

        Args:
            outputs: (B, num_outputs) float32, logits.
            values: (B,) float32.
            rows: B rows.
            terms: of the loss.

        Returns:
            Tensors like ``outputs`` and ``values``, and ``DIAGNOSTICS`` by name, () float32 each.
        """
        count = len(rows)
        envs = min(-(-count // self._lanes), MOST_ENVS, self.num_envs)
        columns = columns_of(rows)  # held until the kernels are launched
        data = addresses_of(columns)
        outputs, values = outputs.detach().contiguous(), values.detach().contiguous()
        of_outputs, of_values = torch.empty_like(outputs), torch.empty_like(values)
        numbers = outputs.new_empty(envs, MOMENTS + FIGURES, dtype=torch.float64)
        moments, figures = numbers.data_ptr(), numbers.data_ptr() + 8 * envs * MOMENTS
        found = outputs.new_empty(len(DIAGNOSTICS))
        # moments of the advantages, and how many rows count
        needs_moments = terms.normalise_advantages or rows.mask is not None
        if needs_moments:
            needs = needs_of((rows.advantages, rows.mask), (numbers[:, :MOMENTS],))
            self.launch("moments", (), (*data, moments, count), envs, needs)
        # losses and gradients
        tensors = [tensor.data_ptr() for tensor in (outputs, values, of_outputs, of_values)]
        places = (moments if needs_moments else 0, self._head_sizes.data_ptr(), figures)
        needs = needs_of((*columns, outputs, values), (of_outputs, of_values, numbers[:, MOMENTS:]))
        self.launch("losses", (), (*data, *tensors, *places, *numbers_of(terms), count), envs, needs)
        needs = needs_of((numbers[:, MOMENTS:],), (found,))
        self.launch("diagnose", (), (figures, found.data_ptr(), envs), 1, needs)
        return of_outputs, of_values, dict(zip(DIAGNOSTICS, found.unbind(), strict=True))


def columns_of(rows: Batch) -> list[Tensor | None]:
    """The tensors that the kernels' struct Rows points to, contiguous; None where rows have no such column."""
    floats = rows.log_probs, rows.advantages, rows.returns, rows.values, rows.importance
    own = rows.actions, *floats, rows.mask, rows.action_masks
    return [None if column is None else column.contiguous() for column in own]


def addresses_of(tensors: Sequence[Tensor | None]) -> list[int]:
    """Addresses for the kernels, 0 for None."""
    return [0 if tensor is None else tensor.data_ptr() for tensor in tensors]


def numbers_of(terms: LossTerms) -> list[float]:
    """Fields of the kernels' structs Coefficients and Loss."""
    coefficients = (terms.clip_coef, terms.ent_coef, terms.vf_coef, terms.kl_coef)
    flags = (terms.surrogate, terms.clip_value_loss, terms.normalise_advantages, NORM_EPS)
    return [part for each in coefficients for part in _setting(each)] + list(flags)


def _setting(value: float | Tensor) -> tuple[int, float]:
    """The fields of the kernels' struct Setting: the address of a tensor, and a number in place of one."""
    return (value.data_ptr(), 0.0) if isinstance(value, Tensor) else (0, float(value))
