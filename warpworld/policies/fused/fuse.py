"""Gives a policy its fused kernels, where it can have them."""

from __future__ import annotations

import logging

from torch import nn

from warpworld.errors import BuildError, ConfigError, DeviceError
from warpworld.policies import (
    FLOAT32,
    Categorical,
    Gaussian,
    MinGRU,
    Policy,
    QNetwork,
    RecurrentPolicy,
    RecurrentQNetwork,
)
from warpworld.policies.fused.architecture import what_bytes_say, why_not
from warpworld.policies.fused.gated_means import GatedMeans
from warpworld.policies.fused.library import multiplies_pairs
from warpworld.policies.fused.networks import FusedNetworks
from warpworld.policies.fused.values import FusedValues

logger = logging.getLogger(__name__)


def fuse(policy: Policy, name: str = "policy", required: bool = False, precision: str = FLOAT32) -> bool:
    """Let a policy's networks run in C++ from now on, forward and gradient, if they are packaged; torch runs others.

    What is no packaged model in float32 on the cpu stays as it is, but for the running means of a mingru. So does
    everything where the C++ does not compile, and, with products in bfloat16, where it has none that are quick; the log
    gives the reason.

    Args:
        policy: it must not be moved to another device after.
        name: of the policy, for the log.
        required: whether torch will not do.
        precision: of the policy's products.

    Returns:
        Whether its whole networks have them now.

    Raises:
        ConfigError: they have not, and it is required.
    """
    level, reason, either = logging.INFO, None, "set it"
    # networks in C++, or the reason why there are none
    try:
        _fuse_means(policy)
        if precision != FLOAT32 and not multiplies_pairs():
            reason = f"trainer.precision is {precision}, for which the C++ needs a processor with avx512_bf16"
            either = "set trainer.precision to float32, or trainer.fused"
        else:
            reason = _why_not(policy)
        if reason is None:
            policy.model.fused = fused_networks(policy, precision=precision)  # type: ignore[assignment]
    except (BuildError, DeviceError) as error:
        level, reason = logging.WARNING, str(error)
    # the reason, as an error or for the log
    if reason is not None and required:
        raise ConfigError(
            f"trainer.fused is required, but policy '{name}' can be run by torch alone: {reason}; {either} to "
            "true, which leaves such policies to torch"
        )
    if reason is not None:
        logger.log(level, "policy '%s' is run by torch, without fused kernels: %s", name, reason)
    return reason is None


def _why_not(policy: Policy) -> str | None:
    """Reason why a policy's networks cannot be run in C++; None if they can."""
    if not isinstance(policy.distribution, Categorical | Gaussian):
        return f"its actions are those of a {type(policy.distribution).__name__}"
    return why_not(policy.model)


def fused_networks(policy: Policy, num_workers: int | None = None, precision: str = FLOAT32) -> FusedNetworks:
    """The networks of a policy in C++, which it does not use yet; arguments and errors as those of FusedNetworks."""
    distribution = policy.distribution
    heads = distribution.head_sizes if isinstance(distribution, Categorical) else ()
    log_std = distribution.log_std if isinstance(distribution, Gaussian) else None
    kind = FusedValues if _gives_values(policy) else FusedNetworks
    reads, is_apart = what_bytes_say(policy), policy.critic_input is not None
    return kind(policy.model, heads, num_workers, log_std, precision, reads, is_apart)


def _gives_values(policy: Policy) -> bool:
    """Whether a policy's outputs are values of choices."""
    return isinstance(policy.model, QNetwork | RecurrentQNetwork)


def fuse_copy(policy: Policy, network: nn.Module) -> None:
    """Let a copy of a policy's network run in C++, too, if the policy's own does.

    Args:
        policy: that is fused or not.
        network: like its model, with weights of its own, such as a target network.
    """
    fused = fused_gradient(policy)
    if fused is not None:
        network.fused = fused.like(network)  # type: ignore[assignment]


def _fuse_means(policy: Policy) -> None:
    """Let C++ compute what goes from step to step in a mingru."""
    cells = [module for module in policy.modules() if isinstance(module, MinGRU)]
    if cells:
        native = GatedMeans()
        for cell in cells:
            cell.native = native


def fused_gradient(policy: Policy) -> FusedNetworks | None:
    """The C++ networks that compute a whole gradient for a fused policy; None for others."""
    fused = getattr(policy.model, "fused", None)
    return fused if isinstance(fused, FusedNetworks) else None


def fused_actor(policy: Policy) -> FusedNetworks | None:
    """The C++ networks that compute all of a policy's outputs from raw rows; None if torch has a part in it."""
    fused = fused_gradient(policy)
    if fused is None or policy.state_size != fused.state_size:  # such as one that stacks what it saw
        return None
    is_plain = (policy.preprocessing is None or fused.reads_bytes) and policy.normaliser is None
    kind, own = type(policy), vars(policy)
    is_usual = kind.outputs is Policy.outputs and kind.features is Policy.features
    if isinstance(policy, RecurrentPolicy):
        is_usual = is_usual and type(policy).step is RecurrentPolicy.step
        is_usual = is_usual and (policy.value_scale is None or not fused.values_as_it_acts)  # values are in rewards
    return fused if is_plain and is_usual and not {"outputs", "features", "step"} & own.keys() else None
