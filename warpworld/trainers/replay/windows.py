"""A batch of windows, as a replay gives it to an algorithm whose policy remembers."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Windows:
    """B windows of successive steps of an agent: views of the store, but for the weights.

    A window has L = burn_in + T + n steps: T of them are trained, n more are what follows the last of these.

    Attributes:
        observations: (L, B, entries), rows, see ``ObservationRows``.
        states: (B, state size) float32, what the agent remembered before the first step, by the policy that acted.
        starts: (L, B) bool, before which steps it forgets, since an episode begins; False in the first step.
        actions: (T, B, heads) int32.
        returns: (T, B) float32, discounted rewards of up to n steps.
        discounts: (T, B) float32, of the value of what follows; 0 where nothing does.
        following: (T, B) int64, which step follows, counted from the first that is trained: 0 .. T + n - 1.
        learnt: (T, B) bool, whether a step is learnt from; the others hold anything.
        action_masks: (T + n, B, choices) bool, False for choices that are forbidden; None where none ever is.
        weights: (B,) float32, importance weights, the largest 1; all 0 where nothing could be drawn.
    """

    observations: Tensor
    states: Tensor
    starts: Tensor
    actions: Tensor
    returns: Tensor
    discounts: Tensor
    following: Tensor
    learnt: Tensor
    action_masks: Tensor | None
    weights: Tensor
