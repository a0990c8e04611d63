"""Updates from a rollout: passes over its rows in minibatches, on one process, on several, or as CUDA graphs."""

from warpworld.trainers.algorithms.updates.captured_updates import CapturedUpdates
from warpworld.trainers.algorithms.updates.choosing import choose_updates
from warpworld.trainers.algorithms.updates.holding import choose_hold
from warpworld.trainers.algorithms.updates.passes import Permutations, RecomputedTargets
from warpworld.trainers.algorithms.updates.shared_updates import SharedUpdates
from warpworld.trainers.algorithms.updates.updates import Updates

__all__ = [
    "CapturedUpdates",
    "Permutations",
    "RecomputedTargets",
    "SharedUpdates",
    "Updates",
    "choose_hold",
    "choose_updates",
]
