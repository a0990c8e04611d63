"""Rows for an on-policy algorithm, made of what was recorded of a group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from warpworld.policies import Policy, RecurrentPolicy
from warpworld.policies.fused import fused_gradient
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.algorithms.experience.sequences import Experience, Sequences
from warpworld.trainers.collecting import Trajectories, begun
from warpworld.trainers.spans import VALUES, spanned

# Rows of one value forward: of torch's on a cpu so few that what lies between the layers stays in a cache, on a gpu as
# many as its memory does not notice. C++ takes them in strips by itself.
VALUE_ROWS = {"cpu": 1 << 12, "cuda": 1 << 20}
FUSED_ROWS = 1 << 20
VALUE_FEATURES = 1 << 28  # of all these rows together: images of bytes become four times as large


def experience_of(
    seen: Trajectories, policy: Policy, values: Tensor, advantages: Tensor, returns: Tensor
) -> Experience:
    """A group's steps as rows.

    Args:
        seen: what was recorded.
        policy: that learns from it.
        values: (T, num_envs, n) float32, as the three below.
        advantages: of the actions.
        returns: what the value function should say.

    Returns:
        The (T, num_envs, n) rows laid out flat; for a recurrent policy, the num_envs * n sequences of T rows.
    """
    rows = plain_rows(seen, values, advantages, returns)
    if not isinstance(policy, RecurrentPolicy):
        return rows
    assert seen.first_state is not None
    return Sequences.of_rollout(rows, seen.first_state.flatten(0, 1), starts_of(seen)[:-1].flatten(1))


def plain_rows(seen: Trajectories, values: Tensor, advantages: Tensor, returns: Tensor) -> Batch:
    """A group's steps as rows of a policy without memory; arguments as those of ``experience_of``."""
    steps, num_envs, agents = seen.rewards.shape
    return Batch(
        observations=seen.observations.flatten(0, 2),
        actions=seen.actions.flatten(0, 2),
        log_probs=seen.log_probs.flatten(),
        advantages=advantages.flatten(),
        returns=returns.flatten(),
        values=values.flatten(),
        mask=None if seen.counted is None else seen.counted.flatten(),
        action_masks=None if seen.action_masks is None else seen.action_masks.flatten(0, 2),
        critic_inputs=None if seen.critic_inputs is None else seen.critic_inputs.flatten(0, 2),
        blocks=(num_envs * agents,) * steps,
    )


def starts_of(seen: Trajectories) -> Tensor:
    """Steps before which agents' states were zeroed, see ``begun``: (T + 1, num_envs, n) bool."""
    agents = seen.rewards.shape[-1]
    return begun(seen.terminated, seen.truncated, seen.agent_terminated, agents, seen.agent_truncated, seen.first_cut)


@spanned(VALUES)
def step_values(seen: Trajectories, policy: Policy) -> Tensor:
    """(T, num_envs, n): the values of what was observed; a recurrent policy gave them as it acted."""
    if seen.values is not None:
        return seen.values
    return values_of(policy, seen.observations, critic_inputs=seen.critic_inputs)


@spanned(VALUES)
def ends_of(seen: Trajectories, policy: Policy, place: Tensor | None = None) -> dict[str, Any]:
    """Inputs of value targets besides the values: the arguments of ``gae`` and ``vtrace`` of these names.

    A recurrent policy evaluates what follows the last step, and final observations, with the states in which it acted.

    Args:
        seen: what was recorded.
        policy: whose values follow.
        place: (T + 1, num_envs, n) float32, where values of final observations are written, and which keeps what it
            holds elsewhere; a single forward then values all that follows. None for new memory with zeros.
    """
    next_value, truncated_values = _separately(seen, policy) if place is None else _at_once(seen, policy, place)
    return {
        "rewards": seen.counted_rewards,
        "terminated": seen.terminated,
        "truncated": seen.truncated,
        "agent_terminated": seen.agent_terminated,
        "agent_truncated": seen.agent_truncated,
        "next_value": next_value,
        "truncated_values": truncated_values,
    }


def _separately(seen: Trajectories, policy: Policy) -> tuple[Tensor, Tensor]:
    """Values of what follows the last step, and of final observations, 0 where an env was not truncated."""
    following = values_of(policy, seen.next_observations, seen.next_state, seen.next_critic_inputs)
    finals = seen.finals
    if len(finals.envs) == 0:
        return following, torch.zeros_like(seen.rewards, memory_format=torch.contiguous_format)
    found = values_of(policy, finals.observations, finals.states, finals.critic_inputs)
    return following, finals.placed(found, *seen.rewards.shape[:2])


def _at_once(seen: Trajectories, policy: Policy, place: Tensor) -> tuple[Tensor, Tensor]:
    """Values of both, the final ones in ``place``, which keeps what it holds elsewhere."""
    finals, num_envs = seen.finals, len(seen.next_observations)
    if len(finals.envs) == 0:
        return values_of(policy, seen.next_observations, seen.next_state, seen.next_critic_inputs), place[:-1]

    def both(following: Tensor | None, final: Tensor | None) -> Tensor | None:
        return None if following is None or final is None else torch.cat((following, final))

    observations = torch.cat((seen.next_observations, finals.observations))
    states, read = both(seen.next_state, finals.states), both(seen.next_critic_inputs, finals.critic_inputs)
    found = values_of(policy, observations, states, read)
    return found[:num_envs], finals.placed(found[num_envs:], len(seen.rewards), num_envs, place)


@contextmanager
def rows_of_a_gpu() -> Iterator[None]:
    """Let a value forward take as many rows on the host as on a GPU meanwhile, for a forecast."""
    before = VALUE_ROWS["cpu"]
    VALUE_ROWS["cpu"] = VALUE_ROWS["cuda"]
    try:
        yield
    finally:
        VALUE_ROWS["cpu"] = before


def rows_at_once(policy: Policy, observations: Tensor) -> int:
    """Number of these rows that a value forward takes."""
    most = VALUE_ROWS[observations.device.type] if fused_gradient(policy) is None else FUSED_ROWS
    return min(most, VALUE_FEATURES // observations.shape[-1] or 1)


def values_of(
    policy: Policy, observations: Tensor, states: Tensor | None = None, critic_inputs: Tensor | None = None
) -> Tensor:
    """Value of each observation, without gradient.

    Args:
        policy: whose.
        observations: (..., entries), rows.
        states: (..., state size) float32, what is remembered then by the recurrent policy, or by its critic if that
            reads other inputs; None if nothing is.
        critic_inputs: (..., numbers) float32, what the critic reads in place of the observations; None for those.

    Returns:
        (...) float32.
    """
    flat, size = observations.reshape(-1, observations.shape[-1]), rows_at_once(policy, observations)
    with torch.no_grad():
        read = flat if critic_inputs is None else critic_inputs.reshape(-1, critic_inputs.shape[-1])
        if states is None:
            values = [policy.value(rows) for rows in read.split(size)]
        else:
            assert isinstance(policy, RecurrentPolicy)
            step = policy.values if critic_inputs is None else policy.central_values
            parts = zip(read.split(size), states.flatten(0, -2).split(size), strict=True)
            values = [step(*part) for part in parts]
    return (values[0] if len(values) == 1 else torch.cat(values)).view(observations.shape[:-1])
