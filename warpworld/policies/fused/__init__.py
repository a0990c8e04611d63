"""C++ on the cpu: packaged networks as they act and learn, gradients, steps of Adam, GAE and minibatches."""

from warpworld.policies.fused.acting import FusedActing
from warpworld.policies.fused.adam import FusedAdam
from warpworld.policies.fused.calls import DIAGNOSTICS, Loss, RateRule
from warpworld.policies.fused.fuse import fuse, fuse_copy, fused_actor, fused_gradient, fused_networks
from warpworld.policies.fused.gae import fused_gae
from warpworld.policies.fused.gated_means import NativeMean
from warpworld.policies.fused.gradients import FusedGradients
from warpworld.policies.fused.joining import Joining
from warpworld.policies.fused.networks import FusedNetworks
from warpworld.policies.fused.shuffling import Shuffler
from warpworld.policies.fused.transitions import FusedTransitions
from warpworld.policies.fused.values import FusedValues
from warpworld.policies.fused.variance import fused_variance

__all__ = [
    "DIAGNOSTICS",
    "FusedActing",
    "FusedAdam",
    "FusedGradients",
    "FusedNetworks",
    "FusedTransitions",
    "FusedValues",
    "Joining",
    "Loss",
    "NativeMean",
    "RateRule",
    "Shuffler",
    "fuse",
    "fuse_copy",
    "fused_actor",
    "fused_gae",
    "fused_gradient",
    "fused_networks",
    "fused_variance",
]
