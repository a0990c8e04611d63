"""What a rollout recorded of one group."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Trajectories:
    """One group's part of a rollout: views of the store, but for ``truncated``. T rows, n agents.

    Attributes:
        observations: (T, num_envs, n, features) float32.
        actions: (T, num_envs, n, heads) int32, or (T, num_envs, n, dimensions) float32 as drawn.
        log_probs: (T, num_envs, n) float32.
        rewards: (T, num_envs, n) float32.
        terminated: (T, num_envs) bool; where an env was truncated too, it terminated.
        truncated: (T, num_envs) bool; False where the env terminated.
        agent_terminated: (T, num_envs, n) bool, or None where agents stay to the end.
        mask: (T, num_envs, n) bool, False for rows that do not count; None where all do.
        action_masks: (T, num_envs, n, choices) bool, False for choices that were forbidden; None where none ever is.
    """

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    rewards: Tensor
    terminated: Tensor
    truncated: Tensor
    agent_terminated: Tensor | None
    mask: Tensor | None
    action_masks: Tensor | None
