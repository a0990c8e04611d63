"""QMIX (Rashid et al. 2018): a team's value is a monotonic function of its agents', which depends on the state."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

from gymnasium.spaces import Box
from pydantic import Field

from warpworld.config import ALGORITHM, Count
from warpworld.environment import Environment, Group, state_space
from warpworld.policies import MonotonicMixer, observation_size
from warpworld.trainers.algorithms import OffPolicySettings
from warpworld.trainers.algorithms.mixing import Mixing, MixingSettings


class QMIXSettings(MixingSettings):
    """One entry of the ``policy`` section with ``algorithm: qmix``."""

    algorithm: Literal["qmix"] = Field(default="qmix", description=ALGORITHM)
    mixing_size: Count = Field(default=32, le=65536, description="width of the layer that mixes agents' values")
    hypernetwork_size: Count = Field(
        default=64, le=65536, description="width of the hidden layer of the networks that compute its weights"
    )


class QMIX(Mixing):
    """Q-learning of teams whose value is mixed by weights that are computed from the state, none of them negative.

    The state is what the environment declares as the group's ``critic_input``: of an array per env the env's part, of
    one per agent the parts of all agents. Without one it is what all agents of the group observe.
    """

    Settings: ClassVar[type[OffPolicySettings]] = QMIXSettings
    settings: QMIXSettings

    @classmethod
    def critic_space(cls, environment: Environment, group: Group) -> Box | None:
        """The state of the whole team."""
        return state_space(environment, group)

    @classmethod
    def mixer(cls, settings: Any, group: Group, state: Box | None) -> MonotonicMixer:
        """A monotonic one, whose weights are computed from the state."""
        numbers = group.size * observation_size(group) if state is None else math.prod(state.shape)
        return MonotonicMixer(group.size, numbers, settings.mixing_size, settings.hypernetwork_size)

    def state_array(self, group: Group) -> str | None:
        """The state that the environment declares."""
        return group.critic_input
