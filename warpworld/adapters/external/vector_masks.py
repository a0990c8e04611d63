"""Masks of actions of many envs with one agent each."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Space

from warpworld.adapters.external.action_masks import can_be_masked, late_mask, mask_in, mask_row
from warpworld.adapters.external.observation_form import ObservationForm
from warpworld.environment.spaces import action_heads


class VectorMasks:
    """Keeps what is legal in each env, from observations or infos.

    Args:
        form: of observations.
        action: the library's space of actions.
        num_envs: envs.
        where: library and environment, for messages.

    Attributes:
        there_are: whether the library says what is legal; known after the first reset.
    """

    def __init__(self, form: ObservationForm, action: Space, num_envs: int, where: str) -> None:
        self._form, self._action, self._where = form, action, where
        self._serves = can_be_masked(action)
        choices = sum(action_heads(action)) if self._serves else 0
        self._last = np.ones((num_envs, 1, choices), np.bool_)
        self._begun = self._last
        self.there_are, self._has_begun = form.has_mask, False

    @property
    def last(self) -> np.ndarray | None:
        """(num_envs, 1, choices) bool, of the observations that were handed out last; None if there are no masks."""
        return self._last if self.there_are else None

    def begin(self, observations: Any, infos: Any) -> None:
        """Take what a reset returned; envs that were not reset in it keep theirs."""
        if not self._has_begun:
            self.there_are |= self._serves and mask_in(infos) is not None
        self._has_begun = True
        self._take(self._begun, observations, infos)

    def begin_some(self, envs: np.ndarray, observations: Any, infos: Any) -> None:
        """Take what a reset of some envs returned: a row for each of these."""
        if not self.there_are:
            return
        key = None if self._form.has_mask else mask_in(infos)
        given = self._form.mask(observations) if key is None else infos[key]
        self._last = self._begun = np.array(self._begun)
        self._write(envs, {env: given[row] for row, env in enumerate(envs)}, f"{key or 'observation'} of a reset")

    def step(self, observations: Any, infos: Any) -> None:
        """Take what a step returned; of envs that were reset in it, of their new episodes."""
        if not self.there_are and self._serves and mask_in(infos) is not None:
            raise late_mask(self._where)
        self._take(np.ones_like(self._last), observations, infos)

    def _take(self, before: np.ndarray, observations: Any, infos: Any) -> None:
        if not self.there_are:
            return
        self._last = self._begun = np.array(before)
        if self._form.has_mask:
            self._write(range(len(self._last)), self._form.mask(observations), "observation['action_mask']")
        else:
            self._write_infos(range(len(self._last)), infos)

    def final(self, ended: np.ndarray, observations: list[Any], infos: Any) -> None:
        """Take the masks that belong to the final observations of the envs that ended."""
        if not self.there_are:
            return
        self._last = np.array(self._begun)
        self._last[ended] = True
        if self._form.has_mask:
            for env, observation in zip(ended, observations, strict=True):
                self._write([env], {env: self._form.mask(observation)}, "final observation['action_mask']")
        else:
            self._write_infos(ended, infos)

    def show_begun(self) -> None:
        """Go back from final observations to those of new episodes."""
        self._last = self._begun

    def _write_infos(self, envs: Any, infos: Any) -> None:
        """Write what infos of a vector environment say of some envs: each key beside a flag for each env."""
        key = mask_in(infos)
        if key is not None:
            there = infos.get(f"_{key}", np.ones(len(self._last), np.bool_))
            self._write([env for env in envs if there[env]], infos[key], f"infos[{key!r}]")

    def _write(self, envs: Any, given: Any, what: str) -> None:
        for env in envs:
            one = tuple(part[env] for part in given) if isinstance(given, tuple) else given[env]
            self._last[env, 0] = mask_row(one, self._action, f"{self._where}: env {env}: {what}")
