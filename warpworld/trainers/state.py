"""What a checkpoint holds besides the store, and whether it fits: weights, torch's generators, torch's threads."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import torch

from warpworld.errors import RunError, TrainingError
from warpworld.policies import Policy

logger = logging.getLogger(__name__)


def check_weights(policies: Mapping[str, Policy | None], saved: Mapping[str, Mapping[str, torch.Tensor]]) -> None:
    """Compare names and shapes of saved weights with the policies that are to take them; None takes none.

    Raises:
        RunError: they do not fit: which policy, which weight, and both shapes.
    """
    for name, policy in policies.items():
        if policy is None:
            continue
        if name not in saved:
            raise RunError(f"the checkpoint has no policy '{name}', only {', '.join(map(repr, saved)) or 'none'}")
        own = {key: tuple(weight.shape) for key, weight in policy.state_dict().items()}
        theirs = {key: tuple(weight.shape) for key, weight in saved[name].items()}
        for key in own | theirs:
            if own.get(key) != theirs.get(key):
                raise RunError(
                    f"policy '{name}': {key} has shape {theirs.get(key, 'none')} in the checkpoint, "
                    f"{own.get(key, 'none')} in the policy that config.yaml describes"
                )


def check_finite_weights(policies: Mapping[str, Policy | None]) -> None:
    """Stop before weights that are lost are saved over good ones.

    Raises:
        TrainingError: a weight is NaN or infinite.
    """
    for name, policy in policies.items():
        for key, weight in policy.named_parameters() if policy is not None else ():
            if not bool(weight.isfinite().all()):
                raise TrainingError(
                    f"policy '{name}': {key} holds numbers that are not finite; the run's latest checkpoint is from "
                    "before. A lower learning_rate or max_grad_norm may keep them finite"
                )


def random_state(device: torch.device) -> dict[str, torch.Tensor]:
    """State of torch's own generators: the library draws nothing from them, but a user's model may."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def set_random_state(device: torch.device, states: Mapping[str, torch.Tensor]) -> None:
    """Write back what ``random_state`` returned."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)


def set_threads(wanted: int | None, saved: int | None = None) -> None:
    """Give torch ``wanted`` threads, None leaving it its own; warn where a run had ``saved`` and now has others."""
    if wanted is not None:
        torch.set_num_threads(wanted)
    if saved is not None and torch.get_num_threads() != saved:
        logger.warning(
            "the run had %d threads of torch and goes on with %d, so not as it would have bit for bit; "
            "see trainer.torch_threads",
            saved,
            torch.get_num_threads(),
        )
