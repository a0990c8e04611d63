"""Gives a policy its fused kernels, where it can have them."""

from __future__ import annotations

import logging

from warpworld.errors import BuildError, ConfigError, DeviceError
from warpworld.policies.cells import MinGRU
from warpworld.policies.distributions import Categorical, Gaussian
from warpworld.policies.fused.gated_means import GatedMeans
from warpworld.policies.fused.networks import FusedNetworks, why_not
from warpworld.policies.mlp import MLP
from warpworld.policies.policy import Policy

logger = logging.getLogger(__name__)


def fuse(policy: Policy, name: str = "policy", required: bool = False) -> bool:
    """Let a policy's plain perceptrons run in C++ from now on, forward and gradient; torch runs all others.

    What is not the model "mlp" in float32 on the cpu stays as it is, but for the running means of a mingru, and so does
    everything where the C++ does not compile; the log gives the reason.

    Args:
        policy: it must not be moved to another device after.
        name: of the policy, for the log.
        required: whether torch will not do.

    Returns:
        Whether its whole networks have them now.

    Raises:
        ConfigError: they have not, and it is required.
    """
    level, reason = logging.INFO, _why_not(policy)
    try:
        _fuse_means(policy)
        if reason is None:
            _fuse_networks(policy)
    except (BuildError, DeviceError) as error:
        level, reason = logging.WARNING, str(error)
    if reason is not None and required:
        raise ConfigError(
            f"trainer.fused is required, but policy '{name}' can be run by torch alone: {reason}; set it to true, "
            "which leaves such policies to torch"
        )
    if reason is not None:
        logger.log(level, "policy '%s' is run by torch, without fused kernels: %s", name, reason)
    return reason is None


def _why_not(policy: Policy) -> str | None:
    """Why a policy's networks cannot be run in C++; None if they can."""
    model = policy.model
    if type(model) is not MLP:
        return f"its model is a {type(model).__name__}, not the plain MLP"
    if policy.critic_input is not None:
        return "its critic reads something other than its actor"
    return why_not(model.actor_layers, model.critic_layers)


def _fuse_networks(policy: Policy) -> None:
    """Give a plain perceptron its kernels."""
    model, distribution = policy.model, policy.distribution
    assert isinstance(model, MLP)
    heads = distribution.head_sizes if isinstance(distribution, Categorical) else (distribution.num_outputs,)
    log_std = distribution.log_std if isinstance(distribution, Gaussian) else None
    of_choices = heads if log_std is None else ()
    model.fused = FusedNetworks(model.actor_layers, model.critic_layers, of_choices, log_std=log_std)


def _fuse_means(policy: Policy) -> None:
    """Let C++ compute what goes from step to step in a mingru."""
    cells = [module for module in policy.modules() if isinstance(module, MinGRU)]
    if cells:
        native = GatedMeans()
        for cell in cells:
            cell.native = native


def fused_gradient(policy: Policy) -> FusedNetworks | None:
    """What computes a whole gradient for a fused policy, of choices or of actions in a Box; None for others."""
    fused = policy.model.fused if type(policy.model) is MLP else None
    return fused if isinstance(policy.distribution, Categorical | Gaussian) else None
