"""V-trace: value targets from rows that an older policy acted in."""

from __future__ import annotations

from torch import Tensor

from warpworld.trainers.algorithms.targets.gae import check_shapes, expected_after


def vtrace(
    rewards: Tensor,
    values: Tensor,
    log_ratios: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    agent_terminated: Tensor | None,
    next_value: Tensor,
    truncated_values: Tensor,
    *,
    agent_truncated: Tensor | None = None,
    gamma: float,
    gae_lambda: float,
    rho_bar: float = 1.0,
    c_bar: float = 1.0,
) -> Tensor:
    r"""V-trace targets (Espeholt et al. 2018, arXiv 1802.01561, equation 1 and remarks 1 and 2).

    With the importance ratio w_t = pi(a_t | s_t) / mu(a_t | s_t) of the present policy pi over the one that acted::

        rho_t = min(rho_bar, w_t)       c_t = gae_lambda * min(c_bar, w_t)
        delta_t = rho_t * (r_t + gamma * B_t - V(s_t))
        v_t - V(s_t) = delta_t + gamma * c_t * (v_{t+1} - V(s_{t+1}))      the latter 0 where step t ends a trajectory

    B_t, and where a trajectory ends, are as in ``gae``. On-policy, with bars of at least 1, the targets are the returns
    of ``gae``; with ``gae_lambda=1`` those of n steps. Nothing is read back to the host.

    Args:
        rewards: (T, num_envs, agents) float.
        values: (T, num_envs, agents) float, V of the present value function.
        log_ratios: (T, num_envs, agents) float, log w.
        terminated: (T, num_envs) bool.
        truncated: (T, num_envs) bool.
        agent_terminated: (T, num_envs, agents) bool, or None.
        next_value: (num_envs, agents) float, V of the observation after the last step.
        truncated_values: (T, num_envs, agents) float, V of the final observation of truncated episodes.
        agent_truncated: (T, num_envs, agents) bool, or None.
        gamma: discount per step, in [0, 1].
        gae_lambda: weight of longer looks ahead, in [0, 1].
        rho_bar: limit of the ratio that weighs a TD error; with 1 or more the targets' fixed point is the present
            policy's value, with less a more cautious policy's.
        c_bar: limit of the ratios that carry a later error back; at most ``rho_bar``.

    Returns:
        (T, num_envs, agents), v.

    Raises:
        StoreError: a tensor does not have the shape given above, or a flag is not bool.
    """
    check_shapes(
        rewards, values, terminated, truncated, agent_terminated, next_value, truncated_values, agent_truncated
    )
    expected, ends = expected_after(
        values, terminated, truncated, agent_terminated, next_value, truncated_values, agent_truncated
    )
    ratios = log_ratios.exp()
    errors = ratios.clamp(max=rho_bar) * (rewards + gamma * expected - values)
    carried = gamma * gae_lambda * ratios.clamp(max=c_bar)
    for t in range(len(rewards) - 2, -1, -1):
        errors[t].add_(carried[t] * errors[t + 1].masked_fill(ends[t], 0.0))
    return values + errors
