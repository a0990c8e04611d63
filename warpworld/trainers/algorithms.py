"""The algorithms by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpworld.policies import Policy
from warpworld.trainers.a2c import A2C
from warpworld.trainers.learner import Learner
from warpworld.trainers.ppo import PPO

if TYPE_CHECKING:
    from warpworld.config import A2CConfig, PPOConfig

ALGORITHMS: dict[str, type[Learner]] = {"a2c": A2C, "ppo": PPO}


def build_learner(policy: Policy, entry: A2CConfig | PPOConfig) -> Learner:
    """The learner that a policy's entry in the configuration asks for."""
    return ALGORITHMS[entry.algorithm](policy, entry)  # type: ignore[call-arg]
