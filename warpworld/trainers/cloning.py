"""Behaviour cloning: policies that begin with the actions of a data set.

The weights are those that make the data's actions likeliest: Pomerleau 1991, "Efficient training of artificial neural
networks for autonomous navigation", with the likelihood of the policy's own distribution in place of a square error.
"""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor

from warpworld.config import LearnerConfig, RunConfig
from warpworld.errors import RunError, StoreError, suggest
from warpworld.policies import Policy

LEARNING_RATE = 1e-3  # of Adam
ROWS = 512  # of a minibatch

_log = logging.getLogger(__name__)


def clone_from_data(config: RunConfig, policies: Mapping[str, Policy | None]) -> None:
    """Fit each policy with ``initial_data`` to the actions in a file that ``warpworld rollout`` wrote.

    Rows that do not count are left out. Statistics of observations, where they are normalised, are the data's.

    Args:
        config: the run's settings.
        policies: by name; their weights change.

    Raises:
        RunError: the file cannot be read, is of another environment, or the policy cannot be fitted.
    """
    for name, entry in config.policy.items():
        policy = policies[name]
        if policy is None or not isinstance(entry, LearnerConfig) or entry.initial_data is None:
            continue
        path = entry.initial_data
        where = f"policy.{name}.initial_data is '{path}'"
        _check(policy, where)
        data = _read(path, where)
        rows = [_rows_of(policy, group, data, where) for group in entry.groups]
        loss = _fit(policy, _Rows.joined(rows), entry.initial_epochs, config.trainer.seed)
        count = sum(len(each.seen) for each in rows)
        _log.info("%s: %s rows; the mean log probability of their actions is %.3f", where, f"{count:,}", -loss)


@dataclass(frozen=True)
class _Rows:
    """Rows of a data set as a policy reads them.

    Attributes:
        seen: (n, entries), observations.
        done: (n, heads) int64 or (n, dimensions) float32, actions as the store has them.
        allowed: (n, choices of all heads) bool; None where all is.
    """

    seen: Tensor
    done: Tensor
    allowed: Tensor | None

    @classmethod
    def joined(cls, parts: Sequence[_Rows]) -> _Rows:
        """The rows of several groups, which have the same spaces."""
        masks = [part.allowed for part in parts if part.allowed is not None]
        seen, done = torch.cat([part.seen for part in parts]), torch.cat([part.done for part in parts])
        return cls(seen, done, torch.cat(masks) if masks else None)


def _check(policy: Policy, where: str) -> None:
    """Refuse policies that have no likelihood of an action, or not from an observation alone."""
    if policy.state_size:
        raise RunError(f"{where}: expected a policy without memory; leave it out, or take model.recurrent=null")
    if policy.acts_greedily or not callable(getattr(policy.distribution, "log_prob_and_entropy", None)):
        raise RunError(f"{where}: expected a policy that draws its actions, as ppo, a2c and mappo learn them")


def _read(path: str, where: str) -> dict[str, np.ndarray]:
    """The arrays of a data set."""
    if Path(path).is_dir():
        raise RunError(f"{where}, a folder; expected an npz file, such as {Path(path) / 'data' / 'rollout.npz'}")
    try:
        with np.load(path, allow_pickle=False) as file:
            data = dict(file)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise RunError(f"{where}, which cannot be read: {error}; write one with `warpworld rollout RUN`") from error
    if "lengths" not in data or "about" not in data:
        raise RunError(f"{where}, which is no data set; write one with `warpworld rollout RUN`")
    return data


def _rows_of(policy: Policy, group: str, data: Mapping[str, np.ndarray], where: str) -> _Rows:
    """Rows of a group's agents that count."""
    known = {key.split("/")[0] for key in data if "/" in key}
    if group not in known:
        hint = suggest(group, known)
        raise RunError(f"{where}, data of groups {', '.join(sorted(known))}; expected group '{group}'.{hint}")
    spaces: Any = policy.spaces
    if f"{group}/actions" not in data:
        raise RunError(f"{where}: actions of a Dict or Tuple are not cloned, and group '{group}' has {spaces.action}")
    # what was seen before each action: all but the last observation of each episode
    actions, last = data[f"{group}/actions"], np.cumsum(data["lengths"] + 1) - 1
    if data["lengths"].sum() != len(actions):
        raise RunError(f"{where}: lengths of {data['lengths'].sum()} steps, but {len(actions)} of group '{group}'")
    counted, masks = _counted(actions, data.get(f"{group}/agent_mask"), data.get(f"{group}/action_mask"))
    if not counted.any():
        raise RunError(f"{where}: no row of group '{group}' counts in it")
    prefix = f"{group}/observations"
    seen = {
        key.removeprefix(prefix).removeprefix("/"): np.delete(array, last, axis=0)[counted]
        for key, array in data.items()
        if key.startswith(prefix)
    }
    done = actions[counted]
    # in the form of the policy's spaces
    shape, device = spaces.action.shape, next(policy.parameters()).device
    try:
        observed = spaces.observed(seen.get("", seen), device).rows
    except StoreError as error:
        raise RunError(f"{where}: observations of group '{group}' are not the environment's: {error}") from error
    known_actions = done[:1] if isinstance(spaces.action, Box) else np.unique(done, axis=0)
    if done.shape[1:] != shape or not np.isfinite(done).all() or not all(map(spaces.action.contains, known_actions)):
        raise RunError(
            f"{where}: actions of group '{group}' are {done.dtype}{done.shape[1:]}, expected {spaces.action}"
        )
    allowed = None if masks is None else torch.as_tensor(masks[counted], device=device)
    return _Rows(observed, spaces.choices(done).to(device), allowed)


def _counted(
    actions: np.ndarray, agent_mask: np.ndarray | None, action_mask: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows that count, (T, n) bool, and the masks of what was allowed.

    An agent that may do nothing, such as one that waits for its turn, chooses nothing.
    """
    counted = np.ones(actions.shape[:2], dtype=bool) if agent_mask is None else agent_mask
    return (counted if action_mask is None else counted & action_mask.any(axis=2)), action_mask


def _fit(policy: Policy, rows: _Rows, epochs: int, seed: int) -> float:
    """Make the actions likelier, minibatch by minibatch; the mean negative log probability after it, in nats."""
    if policy.normaliser is not None:
        policy.normaliser.update(policy.floats(rows.seen))
    optimiser = torch.optim.Adam(policy.parameters(), lr=LEARNING_RATE)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for chosen in torch.randperm(len(rows.seen), generator=generator).split(ROWS):
            optimiser.zero_grad()
            _loss(policy, rows, chosen).backward()
            optimiser.step()
    optimiser.zero_grad()
    with torch.no_grad():
        parts = torch.arange(len(rows.seen)).split(ROWS)
        return float(sum(_loss(policy, rows, part) * len(part) for part in parts)) / len(rows.seen)


def _loss(policy: Policy, rows: _Rows, chosen: Tensor) -> Tensor:
    """Mean negative log probability of some rows' actions."""
    allowed = None if rows.allowed is None else rows.allowed[chosen]
    distribution: Any = policy.distribution
    log_probs, _ = distribution.log_prob_and_entropy(policy.outputs(rows.seen[chosen]), rows.done[chosen], allowed)
    return -log_probs.mean()
