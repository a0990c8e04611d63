"""Value decomposition networks (Sunehag et al. 2017): a team's value is the sum of its agents'."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from gymnasium.spaces import Box
from pydantic import Field

from warpworld.config import ALGORITHM
from warpworld.environment import Group
from warpworld.policies import Sum
from warpworld.trainers.algorithms import OffPolicySettings
from warpworld.trainers.algorithms.mixing import Mixing, MixingSettings


class VDNSettings(MixingSettings):
    """One entry of the ``policy`` section with ``algorithm: vdn``."""

    algorithm: Literal["vdn"] = Field(default="vdn", description=ALGORITHM)


class VDN(Mixing):
    """Q-learning of teams whose value is the sum of their agents' values."""

    Settings: ClassVar[type[OffPolicySettings]] = VDNSettings
    settings: VDNSettings

    @classmethod
    def mixer(cls, settings: Any, group: Group, state: Box | None) -> Sum:
        """A sum, which reads no state."""
        return Sum()
