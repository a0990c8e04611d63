"""Common parts of the kernels for losses of rows, see row_loss.cuh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from warpworld.policies.fused import DIAGNOSTICS
from warpworld.trainers.algorithms.experience import NORM_EPS, Batch
from warpworld.trainers.algorithms.settings import LossTerms
from warpworld.trainers.collecting import TensorKernels, needs_of
from warpworld.world import World

MOST_ENVS = 1024  # that work: each of their blocks reads what all of them found
MOMENTS, FIGURES = 3, 8  # numbers that an env gives, as row_loss.cuh has them


class RowLoss(TensorKernels):
    """The losses of PPO and A2C for rows, with their gradients at outputs and values.

    They differ from those of ``ppo_loss`` and ``a2c_loss`` by the rounding of float32.

    Args:
        world: that is not sealed.
        source: the file.
        constants: of the file.
        lanes: rows that a block takes at once, a power of two.
        action_dtype: of actions as a rollout records them.
        num_own: numbers that are found besides diagnostics: the gradient at the distribution's own parameters.
    """

    def __init__(
        self,
        world: World,
        source: Path,
        constants: Mapping[str, int],
        lanes: int,
        action_dtype: torch.dtype,
        num_own: int = 0,
    ) -> None:
        super().__init__(world, source, {**constants, "LANES": lanes}, ["moments", "losses", "diagnose"], lanes)
        self._lanes, self._action_dtype, self._num_own = lanes, action_dtype, num_own

    def takes(self, rows: Batch) -> bool:
        """Whether the kernels compute the loss of rows: with actions as a rollout records them."""
        return rows.actions.dtype == self._action_dtype and self.is_here(rows.actions)

    def of_distribution(self) -> Tensor:
        """Numbers of the distribution that the kernels read, contiguous."""
        raise NotImplementedError

    def give(self) -> None:
        """Add the latest gradient at the distribution's own parameters to theirs."""

    def __call__(
        self, outputs: Tensor, values: Tensor, rows: Batch, terms: LossTerms
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Gradients of the loss at outputs and values, and its diagnostics.

        Args:
            outputs: (B, num_outputs) float32.
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
        numbers = outputs.new_empty(envs, MOMENTS + FIGURES + self._num_own, dtype=torch.float64)
        moments, figures = numbers.data_ptr(), numbers.data_ptr() + 8 * envs * MOMENTS
        found = outputs.new_empty(len(DIAGNOSTICS) + self._num_own)
        # moments of the advantages, and how many rows count
        needs_moments = terms.normalise_advantages or rows.mask is not None
        if needs_moments:
            needs = needs_of((rows.advantages, rows.mask), (numbers[:, :MOMENTS],))
            self.launch("moments", (), (*data, moments, count), envs, needs)
        # losses and gradients
        tensors = [tensor.data_ptr() for tensor in (outputs, values, of_outputs, of_values)]
        places = (moments if needs_moments else 0, self.of_distribution().data_ptr(), figures)
        needs = needs_of((*columns, outputs, values), (of_outputs, of_values, numbers[:, MOMENTS:]))
        self.launch("losses", (), (*data, *tensors, *places, *numbers_of(terms), count), envs, needs)
        needs = needs_of((numbers[:, MOMENTS:],), (found,))
        self.launch("diagnose", (), (figures, found.data_ptr(), envs), 1, needs)
        self.own = found[len(DIAGNOSTICS) :]
        return of_outputs, of_values, dict(zip(DIAGNOSTICS, found[: len(DIAGNOSTICS)].unbind(), strict=True))


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
