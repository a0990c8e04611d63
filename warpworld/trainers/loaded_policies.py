"""Policies of a run's checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from warpworld.errors import RunError
from warpworld.policies import Policy
from warpworld.runs import Which, check_same_environment
from warpworld.trainers.building import build_policies
from warpworld.trainers.state import check_weights

if TYPE_CHECKING:
    from warpworld.config import RunConfig
    from warpworld.runs import Run


def load_policies(run: Run, checkpoint: Which = None) -> dict[str, Policy | None]:
    """The policies of a run's checkpoint, by name, on the CPU; None for those that act at random.

    Args:
        run: an open run folder.
        checkpoint: of which iteration; None takes the latest, "best" each policy's weights with the best evaluation.

    Raises:
        RunError: there is no such checkpoint, or its weights do not fit the run's configuration.
    """
    state = run.load_checkpoint(checkpoint)
    try:
        return policies_with(run.config, state)
    except RunError as error:
        raise RunError(
            f"run '{run.path}': the checkpoint does not fit config.yaml: {error}; play a checkpoint in the run "
            "that wrote it"
        ) from error


def policies_with(config: RunConfig, state: Mapping[str, Any]) -> dict[str, Policy | None]:
    """Policies of a run's settings with copies of saved weights, by name, on the CPU; None for those without a network.

    Args:
        config: the run's settings.
        state: a checkpoint, or the part of one that holds ``policies``, weights by name, and the store's ``layout``.

    Raises:
        RunError: the weights do not fit.
    """
    policies = build_policies(config, config.make_environment(), torch.Generator())
    _check_fits(state, policies, config)
    for name, policy in policies.items():
        if policy is not None:
            policy.load_state_dict(state["policies"][name])
            policy.acting(masked=_has_mask(state.get("layout")))
    return policies


def _has_mask(layout: Any) -> bool:
    """Whether a store with these arrays, entries of name, dtype and shape, has an ``action_mask``."""
    entries = layout if isinstance(layout, list) else []
    return any(isinstance(entry, (list, tuple)) and "action_mask" in entry[:1] for entry in entries)


def _check_fits(state: Mapping[str, Any], policies: Mapping[str, Policy | None], config: RunConfig) -> None:
    saved, weights = state.get("config"), state.get("policies")
    if isinstance(saved, str):
        check_same_environment(saved, config)
    if not isinstance(weights, Mapping):
        raise RunError("it holds no policies")
    check_weights(policies, weights)
