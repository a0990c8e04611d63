"""Settings of the rewards that algorithms learn from."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from warpworld.config.sections import LearnerConfig

LARGEST = 1e30  # what kernels hold as a float32, with room for products


class RewardSettings(LearnerConfig):
    """Settings that make of an environment's rewards those that are learnt from.

    Returns that are reported, ratings and evaluations count the environment's own.
    """

    reward_scale: Annotated[float, Field(gt=0, le=LARGEST)] = Field(
        default=1.0, description="what rewards are multiplied by before they are learnt from"
    )
    reward_clip: Annotated[float, Field(ge=0, le=LARGEST)] | None = Field(
        default=None, description="size at which rewards are cut off, after they are scaled; null for none"
    )
