"""Updates behind their rollout, or beside the next one, with copies of the policies that act meanwhile."""

from warpworld.trainers.overlap.acting_policies import ActingPolicies, copy_policies
from warpworld.trainers.overlap.beside import choose_beside
from warpworld.trainers.overlap.updates import Updates

__all__ = ["ActingPolicies", "Updates", "choose_beside", "copy_policies"]
