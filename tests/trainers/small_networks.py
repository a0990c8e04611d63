"""Configs with small networks: on the stand-in, what takes a run's time is a perceptron of the default widths."""

from __future__ import annotations

import copy
from typing import Any


def small_networks(config: dict[str, Any]) -> dict[str, Any]:
    """A config whose learning policies have hidden layers of 8 units, where it names no widths.

    Args:
        config: as a YAML file gives it; it is left alone.
    """
    made = copy.deepcopy(config)
    for policy in made["policy"].values():
        model = policy.get("model", {})
        if policy.get("algorithm") != "random" and policy.get("train", True) and "type" not in model:
            policy["model"] = {"hidden_sizes": [8, 8], **model}
    return made
