"""Settings that algorithms of a kind share."""

from warpworld.trainers.algorithms.settings.loss_terms import Losses, LossTerms
from warpworld.trainers.algorithms.settings.off_policy_settings import OffPolicySettings
from warpworld.trainers.algorithms.settings.on_policy_settings import OnPolicySettings
from warpworld.trainers.algorithms.settings.segment_settings import SegmentDraws, SegmentSettings
from warpworld.trainers.algorithms.settings.transition_settings import TransitionSettings

__all__ = [
    "LossTerms",
    "Losses",
    "OffPolicySettings",
    "OnPolicySettings",
    "SegmentDraws",
    "SegmentSettings",
    "TransitionSettings",
]
