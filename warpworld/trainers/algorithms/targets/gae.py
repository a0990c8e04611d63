"""Advantages and returns of a rollout."""

from __future__ import annotations

import torch
from torch import Tensor

from warpworld.errors import StoreError


def gae(
    rewards: Tensor,
    values: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    agent_terminated: Tensor | None,
    next_value: Tensor,
    truncated_values: Tensor,
    *,
    agent_truncated: Tensor | None = None,
    gamma: float,
    gae_lambda: float,
) -> tuple[Tensor, Tensor]:
    r"""Generalised advantage estimation (Schulman et al. 2016, arXiv 1506.02438, equations 11, 12 and 16).

    With the TD error and the recursion, from the last step back to the first::

        delta_t = r_t + gamma * B_t - V(s_t)
        A_t     = delta_t + gamma * gae_lambda * A_{t+1}     A_{t+1} = 0 where step t ends the trajectory

    B_t is what is expected after step t:

    - 0 where the env terminated or this agent did (also where the env was truncated in the same step);
    - ``truncated_values[t]`` where the env was truncated: the value of its true final observation;
    - ``values[t + 1]``, or ``next_value`` after the last step, elsewhere. Of an agent that was cut in a step this is
      the value of what it observed last.

    A trajectory ends in the first two cases, so row t + 1, which belongs to the next episode or to an agent that is
    out of the game, has no influence on row t, even where it holds NaN. It also ends where an agent was cut.
    ``gae_lambda=1`` gives discounted returns minus values, ``gae_lambda=0`` the TD errors. Nothing is read back to the
    host.

    Args:
        rewards: (T, num_envs, agents) float.
        values: (T, num_envs, agents) float, V of the observation that each step's action was chosen on.
        terminated: (T, num_envs) bool, the step ended the env's episode.
        truncated: (T, num_envs) bool, a time limit ended it.
        agent_terminated: (T, num_envs, agents) bool, the step was this agent's last in the episode; None if agents
            never die before their env ends.
        next_value: (num_envs, agents) float, V of the observation after the last step.
        truncated_values: (T, num_envs, agents) float, V of the final observation of truncated episodes at the step
            that truncated them; not read elsewhere.
        agent_truncated: (T, num_envs, agents) bool, the agent was cut in this step, while its env continued; None if
            none ever is.
        gamma: discount per step, in [0, 1].
        gae_lambda: weight of longer looks ahead, in [0, 1].

    Returns:
        ``(advantages, returns)``, each (T, num_envs, agents); returns are advantages + values.

    Raises:
        StoreError: a tensor does not have the shape given above, or a flag is not bool.
    """
    check_shapes(
        rewards, values, terminated, truncated, agent_terminated, next_value, truncated_values, agent_truncated
    )
    expected, ends = expected_after(
        values, terminated, truncated, agent_terminated, next_value, truncated_values, agent_truncated
    )
    deltas = rewards + gamma * expected - values
    advantages = deltas.clone()  # right as it stands where a trajectory ends
    for t in range(len(rewards) - 2, -1, -1):
        advantages[t].add_(advantages[t + 1].masked_fill(ends[t], 0.0), alpha=gamma * gae_lambda)
    return advantages, advantages + values


def expected_after(
    values: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    agent_terminated: Tensor | None,
    next_value: Tensor,
    truncated_values: Tensor,
    agent_truncated: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """B_t of ``gae``, and where a trajectory ends: each (T, num_envs, agents) or broadcast to it."""
    final = terminated.unsqueeze(-1)
    if agent_terminated is not None:
        final = final | agent_terminated
    out_of_time = truncated.unsqueeze(-1)
    following = torch.cat((values[1:], next_value.unsqueeze(0)))
    ends = final | out_of_time
    if agent_truncated is not None:
        ends = ends | agent_truncated
    return torch.where(out_of_time, truncated_values, following).masked_fill(final, 0.0), ends


def check_shapes(
    rewards: Tensor,
    values: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    agent_terminated: Tensor | None,
    next_value: Tensor,
    truncated_values: Tensor,
    agent_truncated: Tensor | None,
) -> None:
    """Refuse what would otherwise broadcast to wrong numbers in silence."""
    if rewards.dim() != 3 or len(rewards) == 0:
        raise StoreError(f"rewards: shape {tuple(rewards.shape)}, expected (T, num_envs, agents) with T of at least 1")
    full, per_env = rewards.shape, rewards.shape[:2]
    expected = [
        ("values", values, full),
        ("terminated", terminated, per_env),
        ("truncated", truncated, per_env),
        ("agent_terminated", agent_terminated, full),
        ("next_value", next_value, full[1:]),
        ("truncated_values", truncated_values, full),
        ("agent_truncated", agent_truncated, full),
    ]
    for name, tensor, shape in expected:
        if tensor is None:
            continue
        if tensor.shape != shape:
            raise StoreError(f"{name}: shape {tuple(tensor.shape)}, expected {tuple(shape)} to go with the rewards")
        if name.endswith("ated") and tensor.dtype != torch.bool:
            raise StoreError(f"{name}: dtype {tensor.dtype}, expected torch.bool")
