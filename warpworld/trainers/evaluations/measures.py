"""Numbers that an environment computes from the policies themselves, rather than from episodes."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from warpworld.config import RunConfig
from warpworld.environment import Environment, Probabilities, choice_heads, placed_groups
from warpworld.errors import DeclarationError
from warpworld.policies import Policy
from warpworld.trainers.group_actors import acts_greedily
from warpworld.trainers.searching import SearchingPolicy, searched


def measures_of(
    config: RunConfig, environment: Environment, policies: Mapping[str, Policy | None], greedy: bool = False
) -> dict[str, float]:
    """Measures of a run's policies by their environment, see ``Environment.measure``, by metric: ``eval/<name>``.

    Args:
        config: the run's settings.
        environment: that the policies play in.
        policies: by name; None acts at random.
        greedy: measure the policies that take the likeliest actions instead of drawing.

    Returns:
        Nothing where the environment measures nothing, or a policy has a memory or actions in a Box; or plays by
        search, and the environment does not say from what: see ``Environment.state_of``.

    Raises:
        DeclarationError: the environment's function fails, or gives anything but finite numbers by name.
    """
    if type(environment).measure is Environment.measure:
        return {}
    if any(policy is not None and not policy.has_probabilities for policy in policies.values()):
        return {}
    groups, found = placed_groups(environment), dict[str, Probabilities]()
    for name, entry in config.policy.items():
        policy = policies[name]
        for group in entry.groups:
            if policy is None:
                found[group] = _at_random(choice_heads(groups[group].action))
            elif isinstance(policy, SearchingPolicy) and policy.search.eval_simulations:
                if type(environment).state_of is Environment.state_of:
                    return {}
                found[group] = searched(policy, environment, group)
            else:
                found[group] = _choosing(policy, greedy or acts_greedily(config, name))
    return {f"eval/{name}": value for name, value in _measured(environment, found).items()}


def _choosing(policy: Policy, greedy: bool) -> Probabilities:
    def probabilities(observations: Any, masks: np.ndarray) -> np.ndarray:
        return np.asarray(policy.probabilities(observations, greedy, action_mask=masks))

    return probabilities


def _at_random(heads: tuple[int, ...]) -> Probabilities:
    def probabilities(observations: Any, masks: np.ndarray) -> np.ndarray:
        parts = np.split(np.asarray(masks, np.float64), np.cumsum(heads)[:-1], axis=1)
        return np.concatenate([part / np.maximum(part.sum(1, keepdims=True), 1.0) for part in parts], 1)

    return probabilities


def _measured(environment: Environment, probabilities: Mapping[str, Probabilities]) -> dict[str, float]:
    where = f"{environment.name}: measure()"
    try:
        given: Any = environment.measure(probabilities)
    except Exception as error:  # a user's code, which may raise anything
        raise DeclarationError(f"{where} fails: {type(error).__name__}: {error}") from error
    if not isinstance(given, Mapping):
        raise DeclarationError(f"{where} gives {type(given).__name__}, expected a mapping of names to numbers")
    for name, value in given.items():
        if not isinstance(name, str) or "/" in name or not name:
            raise DeclarationError(f"{where} gives a number named {name!r}, expected a text without '/'")
        if not isinstance(value, numbers.Real) or not math.isfinite(value):
            raise DeclarationError(f"{where} gives {value!r} as {name}, expected a finite number")
    return {name: float(value) for name, value in given.items()}
