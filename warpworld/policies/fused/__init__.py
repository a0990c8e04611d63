"""Plain perceptrons in C++ for training on the cpu: forward, and the whole gradient of a loss."""

from warpworld.policies.fused.networks import DIAGNOSTICS, FusedNetworks, Loss, why_not

__all__ = ["DIAGNOSTICS", "FusedNetworks", "Loss", "why_not"]
