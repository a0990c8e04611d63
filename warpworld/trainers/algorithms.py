"""The algorithms by name."""

from __future__ import annotations

from collections.abc import Mapping

from warpworld.config import A2CConfig, PPOConfig, RunConfig
from warpworld.policies import Policy
from warpworld.trainers.a2c import A2C
from warpworld.trainers.distributed import ALONE, ProcessGroup
from warpworld.trainers.learner import Learner
from warpworld.trainers.ppo import PPO


def build_learners(
    config: RunConfig, policies: Mapping[str, Policy | None], processes: ProcessGroup = ALONE
) -> dict[str, Learner]:
    """A learner for each policy that is trained, by name, with the algorithm of its entry in the configuration."""
    learners: dict[str, Learner] = {}
    for name, policy in policies.items():
        entry = config.policy[name]
        if policy is None or not entry.train:
            continue
        if isinstance(entry, PPOConfig):
            learners[name] = PPO(policy, entry, processes)
        elif isinstance(entry, A2CConfig):
            learners[name] = A2C(policy, entry, processes)
    return learners
