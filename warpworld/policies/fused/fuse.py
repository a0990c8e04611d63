"""Gives a policy its fused kernels, where it can have them."""

from __future__ import annotations

import logging

from warpworld.errors import BuildError, DeviceError
from warpworld.policies.cells import MinGRU
from warpworld.policies.distributions import Categorical, Gaussian
from warpworld.policies.fused.gated_means import GatedMeans
from warpworld.policies.fused.networks import FusedNetworks, why_not
from warpworld.policies.mlp import MLP
from warpworld.policies.policy import Policy

logger = logging.getLogger(__name__)


def fuse(policy: Policy, name: str = "policy") -> bool:
    """Let a policy's plain perceptrons run in C++ from now on, forward and gradient; torch runs all others.

    What is not the model "mlp" in float32 on the cpu stays as it is, but for the running means of a mingru, and so does
    everything where the C++ does not compile; the log gives the reason.

    Args:
        policy: it must not be moved to another device after.
        name: of the policy, for the log.

    Returns:
        Whether its whole networks have them now.
    """
    model, distribution = policy.model, policy.distribution
    try:
        _fuse_means(policy)
    except BuildError as error:
        logger.warning("policy '%s' is run by torch, without fused kernels: %s", name, error)
        return False
    if type(model) is not MLP:
        return _not_fused(name, f"its model is a {type(model).__name__}, not the plain MLP")
    if policy.critic_input is not None:
        return _not_fused(name, "its critic reads something other than its actor")
    reason = why_not(model.actor_layers, model.critic_layers)
    if reason:
        return _not_fused(name, reason)
    heads = distribution.head_sizes if isinstance(distribution, Categorical) else (distribution.num_outputs,)
    log_std = distribution.log_std if isinstance(distribution, Gaussian) else None
    try:
        model.fused = FusedNetworks(
            model.actor_layers, model.critic_layers, heads if log_std is None else (), log_std=log_std
        )
    except (BuildError, DeviceError) as error:
        logger.warning("policy '%s' is run by torch, without fused kernels: %s", name, error)
        return False
    return True


def _fuse_means(policy: Policy) -> None:
    """Let C++ compute what goes from step to step in a mingru."""
    cells = [module for module in policy.modules() if isinstance(module, MinGRU)]
    if cells:
        native = GatedMeans()
        for cell in cells:
            cell.native = native


def _not_fused(name: str, reason: str) -> bool:
    logger.info("policy '%s' is run by torch, without fused kernels: %s", name, reason)
    return False


def fused_gradient(policy: Policy) -> FusedNetworks | None:
    """What computes a whole gradient for a fused policy, of choices or of actions in a Box; None for others."""
    fused = policy.model.fused if type(policy.model) is MLP else None
    return fused if isinstance(policy.distribution, Categorical | Gaussian) else None
