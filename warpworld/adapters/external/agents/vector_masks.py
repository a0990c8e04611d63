"""Masks of actions of many envs with one agent each."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from warpworld.adapters.external.calls import fill, of_env, row_of
from warpworld.adapters.external.forms import ActionForm, ObservationForm, form_for, late_mask, mask_in, mask_row

logger = logging.getLogger(__name__)


class VectorMasks:
    """Keeps what is legal in each env, from observations or infos.

    Args:
        form: of observations.
        action: the form of actions.
        num_envs: envs.
        where: library and environment, for messages.

    Attributes:
        there_are: whether the library says what is legal; known after the first reset.
        action: the form of actions, which the first mask may change.
    """

    def __init__(self, form: ObservationForm, action: ActionForm, num_envs: int, where: str) -> None:
        self._form, self.action, self._where, self._num_envs = form, action, where, num_envs
        self._last = self._begun = self._all()
        self.there_are, self._has_begun = form.has_mask, False

    def _all(self) -> np.ndarray:
        return np.ones((self._num_envs, 1, self.action.num_choices), np.bool_)

    @property
    def last(self) -> np.ndarray | None:
        """(num_envs, 1, choices) bool, of the observations that were handed out last; None if there are no masks."""
        return self._last if self.there_are else None

    def rows(self, env: int) -> list[np.ndarray]:
        """Masks of an env, for ``set_rows``; nothing before the first reset, which may find other choices."""
        return [self._last[env].copy(), self._begun[env].copy()] if self._has_begun else []

    def set_rows(self, env: int, rows: Any) -> None:
        """Write back what ``rows`` returned, of this env or another.

        Raises:
            StateError: it is of envs with other choices.
        """
        self._last, self._begun = np.array(self._last), np.array(self._begun)
        fill({0: self._last, 1: self._begun}, env, dict(enumerate(rows)))

    def begin(self, observations: Any, infos: Any) -> None:
        """Take what a reset returned; envs that were not reset in it keep theirs."""
        if not self._has_begun:
            self._find(infos)
        self._has_begun = True
        self._take(self._begun, observations, infos)

    def _find(self, infos: Any) -> None:
        """Find out from the first infos whether there are masks, and which form of actions they ask for."""
        key = mask_in(infos)
        if key is None or self.there_are:
            return
        # the form of actions that a mask is for
        there = np.flatnonzero(infos.get(f"_{key}", np.ones(self._num_envs, np.bool_)))
        if there.size:
            self.action = form_for(
                row_of(_without_flags(infos[key]), there[0], f"{self._where}: infos[{key!r}]"), self.action
            )
        # whether masks can be used
        self.there_are = self.action.num_choices > 0
        self._last = self._begun = self._all()
        if not self.there_are:
            logger.warning(
                "%s: infos['%s'] is not used: it is no mask for actions in %s", self._where, key, self.action.space
            )

    def begin_some(self, envs: np.ndarray, observations: Any, infos: Any) -> None:
        """Take what a reset of some envs returned: a row for each of these."""
        if not self.there_are:
            return
        key = None if self._form.has_mask else mask_in(infos)
        given = self._form.mask(observations) if key is None else infos[key]
        self._last = self._begun = np.array(self._begun)
        self._write(
            envs, {env: of_env(given, row) for row, env in enumerate(envs)}, f"{key or 'observation'} of a reset"
        )

    def step(self, observations: Any, infos: Any) -> None:
        """Take what a step returned; of envs that were reset in it, of their new episodes."""
        if not self.there_are and self.action.num_choices and mask_in(infos) is not None:
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
            self._write([env for env in envs if there[env]], _without_flags(infos[key]), f"infos[{key!r}]")

    def _write(self, envs: Any, given: Any, what: str) -> None:
        for env in envs:
            is_by_env = isinstance(given, dict) and env in given
            one = given[env] if is_by_env else row_of(given, env, f"{self._where}: {what}")
            self._last[env, 0] = mask_row(one, self.action, f"{self._where}: env {env}: {what}")


def _without_flags(infos: Any) -> Any:
    """Infos of a vector environment without the flags that say which envs have a key."""
    if not isinstance(infos, dict):
        return infos
    return {key: _without_flags(part) for key, part in infos.items() if not (key[:1] == "_" and key[1:] in infos)}
