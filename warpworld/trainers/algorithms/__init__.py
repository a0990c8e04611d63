"""The algorithms that policies learn by: one file each, and what they share."""

from warpworld.moved import moved_modules
from warpworld.trainers.algorithms.actor_critic import ActorCritic, ActorCriticSettings
from warpworld.trainers.algorithms.algorithm import Algorithm, Progress
from warpworld.trainers.algorithms.box_exploration import noise_scale
from warpworld.trainers.algorithms.experience import Batch, Experience, blank, mean, normalise, starts_of
from warpworld.trainers.algorithms.mixing import Mixing, MixingSettings
from warpworld.trainers.algorithms.off_policy import OffPolicy
from warpworld.trainers.algorithms.on_policy import OnPolicy
from warpworld.trainers.algorithms.parameters import FlatParameters, KLPenalty
from warpworld.trainers.algorithms.q_learning import Evaluated, QLearning, QSettings
from warpworld.trainers.algorithms.registry import ALGORITHMS, get_algorithm
from warpworld.trainers.algorithms.settings import (
    Losses,
    LossTerms,
    OffPolicySettings,
    OnPolicySettings,
    SegmentDraws,
    SegmentSettings,
    TransitionSettings,
)
from warpworld.trainers.algorithms.target_network import TargetNetwork
from warpworld.trainers.processes import ALONE, ProcessGroup

__all__ = [
    "ALGORITHMS",
    "ALONE",
    "ActorCritic",
    "ActorCriticSettings",
    "Algorithm",
    "Batch",
    "Evaluated",
    "Experience",
    "FlatParameters",
    "KLPenalty",
    "LossTerms",
    "Losses",
    "Mixing",
    "MixingSettings",
    "OffPolicy",
    "OffPolicySettings",
    "OnPolicy",
    "OnPolicySettings",
    "ProcessGroup",
    "Progress",
    "QLearning",
    "QSettings",
    "SegmentDraws",
    "SegmentSettings",
    "TargetNetwork",
    "TransitionSettings",
    "blank",
    "get_algorithm",
    "mean",
    "noise_scale",
    "normalise",
    "starts_of",
]

moved_modules(
    __name__,
    {
        **{name: f"experience.{name}" for name in ("batch", "sequences")},
        **{name: f"parameters.{name}" for name in ("flat_parameters", "muon", "optimizers", "rmsprop")},
        "transition_settings": "settings.transition_settings",
        **{name: f"targets.{name}" for name in ("estimates", "gae", "kernel_estimates", "value_units", "vtrace")},
        **{name: f"updates.{name}" for name in ("gradients", "minibatches", "passes", "update_parts")},
    },
)
