"""The gradients of an experience's minibatches, in C++."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from warpworld.errors import StoreError
from warpworld.policies.fused.calls import (
    DIAGNOSTICS,
    Common,
    GradientCall,
    Loss,
    Observed,
    Places,
    RateRule,
    Rows,
    checked,
)

if TYPE_CHECKING:
    from warpworld.policies.fused.networks import FusedNetworks


class Experience(Protocol):
    """Rows to learn from, or sequences of rows: ``warpworld.trainers.algorithms`` has both."""

    @property
    def rows(self) -> Any:
        """Rows of the experience, with a tensor for each column; sequences also have ``states`` and ``starts``."""

    def __len__(self) -> int:
        """Number of rows, or of sequences."""


class FusedGradients:
    """The gradients of the minibatches of one experience, by the weights of the moment.

    While it is used weights, gradients and rows stay where they are.

    Args:
        networks: whose weights.
        experience: a batch of B rows whose mask is not read, or B sequences, whose mask is.

    Raises:
        StoreError: a tensor of another shape or dtype.
    """

    def __init__(self, networks: FusedNetworks, experience: Experience) -> None:
        self._networks, self._rows, self._keep = networks, Rows(), list[Tensor]()
        self._count, self._steps = len(experience), 1
        self._starts: int | None = None
        self._states: int | None = None
        self._point_to(experience.rows)
        if networks.state_size:
            self._point_to_sequences(experience)
        networks._point_to_gradients()

    def __call__(self, index: Tensor, loss: Loss) -> Tensor:
        """Write the gradient of a minibatch's loss into the parameters' ``grad``, whatever was there before.

        Args:
            index: (count,) int64, the rows or sequences that the minibatch has, of 0 .. B-1; at least one.
            loss: which loss.

        Returns:
            (6,) float32: means of ``DIAGNOSTICS`` over the rows, from before the step. Without the surrogate, those
            about its ratio are 0.

        Raises:
            StoreError: a row or an action that does not exist.
        """
        call = self._prepared(checked("rows", index, torch.int64, (len(index),)), loss)
        self._networks._run(call)
        return torch.tensor(call.diagnostics[:])

    def steps(
        self,
        order: Tensor,
        counts: Sequence[int],
        loss: Loss,
        step: int,
        rule: RateRule | None = None,
        has_moved: bool = False,
    ) -> Tensor:
        """Take a step of Adam along the gradient of each of some minibatches, without Python between them.

        Ctrl-C ends it between two steps.

        Args:
            order: (rows,) int64, of 0 .. B-1: the minibatches' rows or sequences, one minibatch behind the other.
            counts: rows of each minibatch, at least one.
            loss: which loss.
            step: what ``FusedAdam.prepared`` gives of the networks' weights.
            rule: by which the learning rate follows the KL divergence; None leaves it as it is.
            has_moved: whether a step was taken since the rows' policy acted: before, the rate stays.

        Returns:
            (minibatches, 7) float32: of each ``DIAGNOSTICS``, and the length of its gradient before it is scaled.

        Raises:
            StoreError: a row or an action that does not exist.
        """
        rows = checked("rows", order, torch.int64, (sum(counts),))
        self._prepared(rows, loss)
        bounds = (ctypes.c_int64 * (len(counts) + 1))(0, *itertools.accumulate(counts))
        commons, found = (Common * len(counts))(), torch.empty(len(counts), len(DIAGNOSTICS) + 1)
        call = self._networks._steps_call
        call.step, call.order, call.bounds = step, rows.data_ptr(), ctypes.addressof(bounds)
        call.commons, call.found = ctypes.addressof(commons), found.data_ptr()
        call.minibatches, call.done = len(counts), 0
        call.rule, call.has_moved = rule or RateRule(), has_moved
        self._networks._take_steps()
        return found

    def _prepared(self, rows: Tensor, loss: Loss) -> GradientCall:
        if len(rows) == 0:
            raise StoreError(f"rows: expected at least one, each of 0 to {self._count - 1}")
        call = self._networks._gradient_call
        call.rows, call.sequences, call.loss = self._rows, self._count, loss
        call.places = Places(len(rows), self._steps, self._steps, 1, rows.data_ptr())
        call.starts, call.states = self._starts, self._states
        return call

    def _point_to(self, batch: Any) -> None:
        networks = self._networks
        # rows of every batch
        count, heads, is_box = len(batch), len(networks.head_sizes), networks.is_box
        seen = batch.observations
        dtype, entries = networks.row_of(seen)
        self._rows.observations = self._observed(seen, dtype, (count, entries))
        if networks.is_apart:
            wanted = (count, networks.critic_features)
            self._rows.critic_inputs = self._observed(batch.critic_inputs, torch.float32, wanted, "critic_inputs")
        shapes: dict[str, tuple[torch.dtype, tuple[int, ...]]] = {
            "actions": (torch.float32, (count, networks.num_outputs)) if is_box else (torch.int32, (count, heads)),
            **{name: (torch.float32, (count,)) for name in ("log_probs", "advantages", "returns", "values")},
        }
        for name, (dtype, shape) in shapes.items():
            field = "box_actions" if is_box and name == "actions" else name
            setattr(self._rows, field, self._kept(name, getattr(batch, name), dtype, shape))
        # weights, where rows have any
        if (importance := getattr(batch, "importance", None)) is not None:
            self._rows.importance = self._kept("importance", importance, torch.float32, (count,))
        # masks, which only choices have
        masks = None if is_box else getattr(batch, "action_masks", None)
        if masks is not None:
            wanted = (count, networks.num_outputs)
            self._rows.action_masks = self._kept("action_masks", masks, torch.bool, wanted)

    def _point_to_sequences(self, sequences: Any) -> None:
        self._steps = sequences.starts.shape[1]
        networks, starts = self._networks, (self._count, self._steps)
        states = self._count, networks.state_size + networks.critic_state_size
        self._states = self._kept("states", sequences.states, torch.float32, states)
        self._starts = self._kept("starts", sequences.starts, torch.bool, starts)
        if sequences.rows.mask is not None:
            self._rows.mask = self._kept("mask", sequences.rows.mask, torch.bool, (len(sequences.rows),))

    def _observed(
        self, rows: Tensor, dtype: torch.dtype, shape: tuple[int, ...], name: str = "observations"
    ) -> Observed:
        """Address and layout of what networks read, all rows of it."""
        self._kept(name, rows, dtype, shape)
        return Observed.of(self._keep[-1])

    def _kept(self, name: str, tensor: Tensor, dtype: torch.dtype, shape: tuple[int, ...]) -> int:
        """Address of a tensor, which lives as long as this object."""
        self._keep.append(checked(name, tensor, dtype, shape))
        return self._keep[-1].data_ptr()
