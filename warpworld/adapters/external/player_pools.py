"""EnvPool's pools whose envs have several players, who act at the same time or by turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from warpworld.adapters.external.agents import single_group
from warpworld.adapters.external.calls import Calling, NoStates, Observations, Outcome
from warpworld.adapters.external.forms import ObservationForm, form_for, mask_in, mask_row, shown
from warpworld.adapters.external.results import RESET, STEP, Place, ends_of, ids_of, info_of, results, rewards_of
from warpworld.environment import Group
from warpworld.errors import DeclarationError, StoreError

PLAYER = "player"  # the group of all players


class PlayerPools(NoStates):
    """A pool that resets ended envs in the next step, which then belongs to no player.

    Where players take turns, all see the env and are paid in each step. The mask of those that wait allows nothing,
    and their actions are ignored.

    Args:
        pool: made with ``env_type="gymnasium"``; its seeds are settled then.
        num_envs: envs in it.
        where: library and environment, for messages.
    """

    stateless = "EnvPool gives no states of its envs"

    def __init__(self, pool: Any, num_envs: int, where: str = "external: envpool") -> None:
        self._pool, self._where = pool, where
        self._shape = num_envs, int(pool.config["max_num_players"])
        self._form = ObservationForm(pool.observation_space, pool.action_space, where, PLAYER)
        self._action = self._form.action
        self.requested: tuple[str, ...] = ("agent_mask",)
        self._ended = np.zeros(num_envs, np.bool_)  # in the last step
        self._has_stepped = False  # since all were reset
        self._turns: np.ndarray | None = None  # whose it is in each env; None if all act
        self._legal: np.ndarray | None = None
        self._now: dict[str, np.ndarray] = {}
        self._order = np.arange(num_envs * self._shape[1])  # rows of players in what the pool returned last

    @property
    def groups(self) -> tuple[Group, ...]:
        """One group of all players."""
        return (single_group(PLAYER, self._shape[1], self._form, self._action),)

    @property
    def action_mask(self) -> np.ndarray | None:
        """Masks for the observations that were handed out last."""
        return self._legal

    def reset(self, seed: int) -> Observations:
        """Begin the first episodes; the seeds were given when the pool was made."""
        self._has_stepped = False
        with Calling(self._where, "reset"):
            given = self._pool.reset()
        observations, infos = results(given, RESET, f"{self._where}: reset()")
        self._look(observations, infos, "reset()")
        if self._legal is not None:
            self.requested = ("agent_mask", "action_mask")
        return self._shown()

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """A step of every env."""
        # actions of all players, or of those whose turn it is
        chosen, only_reset = actions[PLAYER], self._ended[:, None]
        if self._turns is not None:
            chosen = chosen[np.arange(len(chosen)), self._turns]
        native = self._action.native(chosen.reshape(-1, chosen.shape[-1]))
        self._has_stepped = True
        with Calling(self._where, "step", action=native):
            given = self._pool.step(native)
        # the pool's results
        observations, rewards, *ends, infos = results(given, STEP, f"{self._where}: step()")
        envs, players = self._look(observations, infos, "step()")
        terminated, truncated = (
            ends_of(end, envs, self._where, name)[np.argsort(envs)] for end, name in zip(ends, STEP[2:4], strict=True)
        )
        # ends and rewards; a step that only reset an env pays none
        self._ended = terminated | truncated
        rewards = rewards_of(rewards, players, self._where, "player of each env")
        paid = np.where(only_reset, 0.0, self._of_players(rewards))
        return Outcome(self._shown(), paid, terminated, truncated, np.broadcast_to(~only_reset, self._shape))

    def begin(self, envs: np.ndarray) -> Observations:
        """First observations of new episodes; envs that ended begin in the next step."""
        early = np.flatnonzero(envs & ~self._ended)
        if early.size and self._has_stepped:
            raise StoreError(
                f"{self._where}: env {early[0]} has not ended, and pools of several players reset envs in the step "
                "after their end only"
            )
        return self._shown()

    def _look(self, observations: Any, infos: Mapping[str, Any], call: str) -> tuple[np.ndarray, np.ndarray]:
        """Keep what players see and may do.

        Returns:
            The envs of rows with one value for each env, and of rows with one for each player; in any order.
        """
        # players in the order of their envs
        where = f"{self._where}: {call}"
        ids = ids_of(infos, np.arange(self._shape[0]), where)
        info_of(infos, "players", where)
        players = info_of(infos["players"], "env_id", f"{where}: players")
        self._order = np.argsort(players, kind="stable")
        if not np.array_equal(players[self._order], np.repeat(np.arange(self._shape[0]), self._shape[1])):
            raise DeclarationError(
                f"{where}: its players are of the envs {players.tolist()}, expected {self._shape[1]} of each env"
            )
        # observations
        parts = self._form.parts(observations, Place(self._where, call=call, envs=players))
        self._now = {key: self._of_players(part) for key, part in parts.items()}
        # turns, and what is legal in them
        envs, turns = np.argsort(ids), infos.get("current_player")
        self._turns = None if turns is None else np.clip(turns[envs], 0, self._shape[1] - 1)
        key = mask_in(infos)
        if key is not None and self._legal is None:
            self._action = form_for(infos[key][0], self._action)
        if self._action.num_choices and (self._turns is not None or key is not None):
            self._legal = self._allowed(None if key is None else infos[key], envs, str(key))
        return ids, players

    def _allowed(self, given: Any, envs: np.ndarray, key: str) -> np.ndarray:
        """(num_envs, players, choices) bool: masks of each env are those of the player whose turn it is."""
        choices = self._action.num_choices
        masks = np.ones((len(envs), choices), np.bool_)
        if given is not None:
            masks = np.array(
                [
                    mask_row(given[row], self._action, f"{self._where}: env {env}: infos['{key}']")
                    for env, row in enumerate(envs)
                ]
            )
        if self._turns is None:
            return np.repeat(masks[:, None], self._shape[1], 1)
        legal = np.zeros((*self._shape, choices), np.bool_)
        legal[np.arange(len(envs)), self._turns] = masks
        return legal

    def _of_players(self, values: np.ndarray) -> np.ndarray:
        """Values of all players as (num_envs, players, ...)."""
        return values[self._order].reshape(*self._shape, *values.shape[1:])

    def _shown(self) -> Observations:
        return {PLAYER: shown(self._now)}

    def close(self) -> None:
        """Let go of the pool, which ends with its last reference."""
        self._pool = None
