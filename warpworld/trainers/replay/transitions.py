"""A batch of transitions, as a replay gives it to an algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Transitions:
    """B transitions of n steps: views of the store.

    Attributes:
        observations: (B, entries), rows, see ``ObservationRows``; of a stack of frames the oldest first.
        actions: (B, heads) int32, or (B, dimensions) float32 in the units of the environment's Box.
        returns: (B,) float32, discounted rewards of up to n steps.
        discounts: (B,) float32, of the value of what follows; 0 where nothing does.
        next_observations: (B, entries), what follows; anything where nothing does.
        next_action_masks: (B, choices) bool, False for choices that are forbidden then; None where none ever is.
        weights: (B,) float32, importance weights, the largest 1; all 0 where nothing could be drawn.
    """

    observations: Tensor
    actions: Tensor
    returns: Tensor
    discounts: Tensor
    next_observations: Tensor
    next_action_masks: Tensor | None
    weights: Tensor
