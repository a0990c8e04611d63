"""Copies of learning policies, which act while the policies themselves are updated."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from warpworld.config import LearnerConfig, RunConfig
from warpworld.errors import ConfigError, said
from warpworld.policies import Policy
from warpworld.trainers.algorithms import get_algorithm
from warpworld.trainers.processes import ProcessGroup


class ActingPolicies:
    """The policies that act in a run whose updates run beside its rollouts.

    A rollout acts with the weights that were there before the update beside it. ``advance`` is called between two
    rollouts: the acting weights become those that acted, and the learner's present ones act next.

    Attributes:
        acting: by name, with those of the run's policies that do not learn.
        acted: by name, for those that learn: with the weights of the rollout that is learnt from.

    Args:
        policies: of the run, by name.
        learning: names of those that learn.

    Raises:
        ConfigError: a model of the user's cannot be copied.
    """

    def __init__(self, policies: Mapping[str, Policy | None], learning: Collection[str]) -> None:
        self._learners = {name: policy for name, policy in policies.items() if policy is not None and name in learning}
        self.acting: dict[str, Policy | None] = {**policies, **self._copies()}
        self.acted = self._copies()

    def copies(self) -> dict[str, list[Policy]]:
        """All copies, by policy."""
        return {name: [self._acting(name), self.acted[name]] for name in self._learners}

    def in_updates(self) -> list[Policy]:
        """All that updates run: the policies that learn, and the copies with the weights that acted."""
        return [*self._learners.values(), *self.acted.values()]

    def _copies(self) -> dict[str, Policy]:
        return {name: _copied(name, policy) for name, policy in self._learners.items()}

    def advance(self) -> None:
        """Let the learners' present weights act next, and keep those that acted."""
        for name, learner in self._learners.items():
            _take(self.acted[name], self._acting(name))
            _take(self._acting(name), learner)

    def begin(self) -> None:
        """Let the learners' present weights act, before the first rollout."""
        for name, learner in self._learners.items():
            _take(self._acting(name), learner)

    def _acting(self, name: str) -> Policy:
        policy = self.acting[name]
        assert policy is not None
        return policy

    # ---- saving ------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """Weights that act next, by policy."""
        return {name: self._acting(name).state_dict() for name in self._learners}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continue from what ``state_dict`` returned, which fits."""
        for name in self._learners:
            self._acting(name).load_state_dict(saved[name])


def copy_policies(
    config: RunConfig, policies: Mapping[str, Policy | None], processes: ProcessGroup
) -> ActingPolicies | None:
    """Copies of policies, which act in a run with ``trainer.overlap``; None in one without.

    Raises:
        ConfigError: the processes or an algorithm rule it out.
    """
    if not config.trainer.overlap:
        return None
    if processes.several:
        raise _refusal(f"{processes.size} processes train the run, which wait for each other", "or start one process")
    learning = []
    for name, entry in config.policy.items():
        if isinstance(entry, LearnerConfig) and entry.train:
            learning.append(name)
            algorithm = get_algorithm(entry.algorithm)
            if not algorithm.overlaps:
                reason = f"policy '{name}' learns by {entry.algorithm}, which has no take() and so no overlaps"
                raise _refusal(reason, "or give its class both")
    return ActingPolicies(policies, learning)


def _refusal(reason: str, otherwise: str) -> ConfigError:
    return ConfigError(f"trainer.overlap is true, but {reason}; set it to false, {otherwise}")


def _copied(name: str, policy: Policy) -> Policy:
    """A copy of a policy, with memory of its own.

    Raises:
        ConfigError: its model cannot be copied, or is copied to something else.
    """
    try:
        made = copy.deepcopy(policy).requires_grad_(False).eval()
    except Exception as error:  # a model of the user's may hold anything
        raise _no_copy(name, f"cannot be copied: {said(error)}; give its class a __deepcopy__") from error
    wanted, found = _shapes(policy), _shapes(made)
    if wanted != found:
        key = next(key for key in {**wanted, **found} if wanted.get(key) != found.get(key))
        differs = f"whose {key} is {found.get(key, 'missing')}, expected {wanted.get(key, 'none of that name')}"
        raise _no_copy(name, f"has a __deepcopy__ that gives a copy {differs}; correct it")
    if shared := [key for key, own in _named(policy) if any(_share(own, other) for other in _tensors(made))]:
        raise _no_copy(name, f"has a __deepcopy__ that shares {shared[0]}, expected memory of its own; correct it")
    return made


def _no_copy(name: str, reason: str) -> ConfigError:
    return ConfigError(
        f"trainer.overlap is true, but the model of policy '{name}', which acts as a copy beside its updates, {reason}"
        ", or set trainer.overlap to false"
    )


def _shapes(policy: Policy) -> dict[str, tuple[int, ...]]:
    return {key: tuple(tensor.shape) for key, tensor in _named(policy)}


def _named(policy: Policy) -> Iterator[tuple[str, Tensor]]:
    return itertools.chain(policy.named_parameters(), policy.named_buffers())


def _share(one: Tensor, other: Tensor) -> bool:
    return one.numel() > 0 and one.data_ptr() == other.data_ptr()


def _take(policy: Policy, other: Policy) -> None:
    """Copy another policy's weights and buffers."""
    with torch.no_grad():
        for own, given in zip(_tensors(policy), _tensors(other), strict=True):
            own.copy_(given)


def _tensors(policy: Policy) -> Iterator[Tensor]:
    return itertools.chain(policy.parameters(), policy.buffers())
