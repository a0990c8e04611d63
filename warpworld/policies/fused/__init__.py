"""Packaged networks in C++ for training on the cpu: forward, and the whole gradient of a loss."""

from warpworld.policies.fused.fuse import fuse, fused_gradient, fused_networks
from warpworld.policies.fused.networks import DIAGNOSTICS, FusedNetworks, Loss

__all__ = ["DIAGNOSTICS", "FusedNetworks", "Loss", "fuse", "fused_gradient", "fused_networks"]
