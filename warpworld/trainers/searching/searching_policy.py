"""A policy that acts by search, wherever it plays in a world, and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from warpworld.errors import RunError
from warpworld.policies import Policy
from warpworld.policies.fused import fuse


@dataclass(frozen=True)
class SearchSettings:
    """Settings of a search; those of ``gumbel_zero``."""

    num_simulations: int
    eval_simulations: int
    max_num_considered_actions: int
    gumbel_scale: float
    value_scale: float
    maxvisit_init: float
    random_moves: int
    gamma: float
    reward_scale: float
    reward_clip: float | None


class SearchingPolicy(Policy):
    """A policy that plays by search in worlds; ``act`` and ``probabilities`` are those of its networks alone.

    Attributes:
        search: settings of the search.
    """

    search: SearchSettings

    @classmethod
    def of(cls, policy: Policy, settings: SearchSettings) -> SearchingPolicy:
        """A policy with the parts of another."""
        made = cls(policy.model, policy.distribution, policy.normaliser, policy.critic_input, policy.preprocessing)
        made.spaces, made.search = policy.spaces, settings
        made.eval()
        return made


def play_by_search(policies: Mapping[str, Policy | None], simulations: int) -> None:
    """Let policies of ``gumbel_zero`` play by searches of so many simulations from now on, outside of training.

    Args:
        policies: by name.
        simulations: 0 for none.

    Raises:
        RunError: no policy can search.
    """
    able = [policy for policy in policies.values() if isinstance(policy, SearchingPolicy)]
    if not able:
        raise RunError(
            f"--simulations {simulations}: no policy of the run plays by search, expected algorithm: gumbel_zero; "
            "leave it out"
        )
    for policy in able:
        policy.search = replace(policy.search, eval_simulations=simulations)
        if simulations:  # on a cpu, then
            fuse(policy)
