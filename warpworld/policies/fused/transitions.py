"""Q-learning's loss of a batch of transitions and its gradient, in C++: forwards, targets, loss and the way back."""

from __future__ import annotations

import ctypes
from typing import Protocol

import torch
from torch import Tensor

from warpworld.policies.fused.calls import TransitionRows, checked
from warpworld.policies.fused.library import library
from warpworld.policies.fused.values import FusedValues

_COLUMNS = ("returns", "discounts", "weights")


class Transitions(Protocol):
    """Columns of B transitions that are read; ``warpworld.trainers.replay`` has such a batch."""

    @property
    def actions(self) -> Tensor:
        """(B, heads) int32."""

    @property
    def returns(self) -> Tensor:
        """(B,) float32, discounted rewards."""

    @property
    def discounts(self) -> Tensor:
        """(B,) float32, of what follows; 0 where nothing does."""

    @property
    def next_action_masks(self) -> Tensor | None:
        """(B, choices) bool, False for what is forbidden then; None where nothing is."""

    @property
    def weights(self) -> Tensor:
        """(B,) float32, importance weights."""


class FusedTransitions:
    """Learns values from transitions: see ``DQN``, whose formulas it has.

    Args:
        networks: whose gradient is computed, into the parameters' ``grad``.
        target: values what follows.
        double: the networks choose what the target values; else the target does.
        rescales: values are on a scale of their own, see ``value_rescale.py``.
    """

    def __init__(self, networks: FusedValues, target: FusedValues, double: bool, rescales: bool) -> None:
        self._networks, self._target, self._double = networks, target, double
        self._rows = TransitionRows(rescales=rescales)
        self._set_targets = library().function("fused_set_targets", ctypes.c_void_p, ctypes.c_void_p)

    def __call__(self, observations: Tensor, following: Tensor, batch: Transitions) -> tuple[Tensor, Tensor, Tensor]:
        """Write the gradient of a batch's loss into the parameters' ``grad``, whatever was there before.

        Args:
            observations: (B, features) float32.
            following: (B, features) float32, what follows.
            batch: the other columns.

        Returns:
            The loss, (), the errors target - value, (B,), and the mean value, (), all float32.

        Raises:
            StoreError: a tensor of another shape or dtype, or an action that does not exist.
        """
        networks, rows, count = self._networks, self._rows, len(observations)
        # values of what follows
        judges = self._target.evaluated(following)
        chooses = networks.evaluated(following) if self._double else judges
        # targets, and the gradient of the loss
        targets, errors = torch.empty(count), torch.empty(count)
        rows.chooses, rows.judges = chooses.data_ptr(), judges.data_ptr()
        rows.targets, rows.errors, rows.count = targets.data_ptr(), errors.data_ptr(), count
        keep = self._point_to(batch, count)
        self._set_targets(ctypes.addressof(rows), networks._model)
        loss, value = networks.learn_transitions(observations, batch.actions, rows)
        del keep
        return torch.tensor(loss), errors, torch.tensor(value)

    def _point_to(self, batch: Transitions, count: int) -> list[Tensor]:
        """Point to a batch's columns; returns what must live as long as they are read."""
        rows, masks = self._rows, batch.next_action_masks
        columns = [checked(name, getattr(batch, name), torch.float32, (count,)) for name in _COLUMNS]
        for name, column in zip(_COLUMNS, columns, strict=True):
            setattr(rows, name, column.data_ptr())
        if masks is None:
            return columns
        if masks.stride(1) != 1:
            masks = masks.contiguous()
        rows.masks, rows.mask_stride = masks.data_ptr(), masks.stride(0)
        return [*columns, masks]
