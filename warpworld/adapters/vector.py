"""A World as a ``gymnasium.vector.VectorEnv``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from warpworld.adapters.rules import PROTOCOLS, Copied, check_render_mode, is_closed, not_begun, rendered, set_options
from warpworld.adapters.views import Batch, Infos
from warpworld.errors import StoreError
from warpworld.world import Seed, World

MODES = {
    "same_step": AutoresetMode.SAME_STEP,
    "next_step": AutoresetMode.NEXT_STEP,
    "disabled": AutoresetMode.DISABLED,
}
_TRUE = b"\1"  # looked for in the bytes of ends: a third of the time of any()


class VectorEnv(Copied, gymnasium.vector.VectorEnv):
    """Many envs, stepped together.

    ``reset(seed=s)`` starts each env on its own trajectory of seed s; a list of seeds starts each on the trajectory
    of a single env of its seed. ``reset(options={"reset_mask": mask})`` resets some. Infos hold "final_obs" and
    "_final_obs" where envs ended and were reset in the same step, "action_mask", "agent_mask" and "agent_terminated"
    where the environment has them, and the arrays that it names in its ``infos``; those of ended episodes are then in
    "final_info". Where agents are rows, infos of a reset also hold the "group" of each.

    Attributes:
        world: what is stepped.
        row_groups: name of the group of each row, where agents are rows; else of each agent of an env.
        autoreset_mode: when an env whose episode ended is reset.

    Args:
        world: with ``check_actions=True`` it refuses illegal actions, and steps of ended envs without autoreset.
        copy: return copies; otherwise views of the store if it lies in host memory, valid until the next step.
        agents: "axis" keeps an env's agents together, with their mean reward; "rows" makes each an entry of the batch,
            with the ends of its env, and its own ends too if envs reset themselves. "auto" is "axis" for one group of
            several agents, otherwise "rows".
        render_mode: "rgb_array" for ``render``.

    Raises:
        DeclarationError: groups of the world see different things or act in different ways; an option is unknown.
    """

    _bound = (
        *("_batch", "_write", "_advance", "_observe", "_rewards", "_terminated", "_truncated"),
        *("_infos", "_has_infos", "_finals", "_heeds_ends", "_own_ends"),
    )

    def __init__(
        self, world: World, *, copy: bool = True, agents: str = "auto", render_mode: str | None = None
    ) -> None:
        PROTOCOLS["gymnasium"].check(world)
        check_render_mode(render_mode)
        if world.autoreset == "same_step":
            world.request("final_observations")
            world.keep_last_infos()
        self.world, self.render_mode, self.autoreset_mode = world, render_mode, MODES[world.autoreset]
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": 30, "autoreset_mode": self.autoreset_mode}
        self._agents, self._copy, self._has_begun = agents, copy, False
        self._over: np.ndarray | None = None  # ended envs that wait for a reset, where that is checked
        self._bind()
        batch = self._batch
        self.num_envs, self.row_groups = batch.size, batch.row_groups
        self.single_observation_space = batch.single_observation_space
        self.single_action_space = batch.single_action_space
        self.observation_space = batch_space(batch.single_observation_space, batch.size)
        self.action_space = batch_space(batch.single_action_space, batch.size)

    def _bind(self) -> None:
        world = self.world
        self._batch = batch = Batch(world, self._agents, self._copy)
        self._write, self._observe = batch.write, batch.observe
        self._advance = batch.step if self._has_begun else not_begun
        self._rewards, self._terminated, self._truncated = batch.rewards, batch.terminated, batch.truncated
        self._infos = Infos(batch, world)
        self._has_infos = bool(self._infos)
        self._finals = batch.finals(self._copy) if world.autoreset == "same_step" else None
        # without autoreset an end asks the caller for a reset, which is one of whole envs
        self._own_ends = None if world.autoreset == "disabled" else batch.own_ends
        self._heeds_ends = self._finals is not None or (world.autoreset == "disabled" and world.checks_actions)

    def reset(self, *, seed: Seed | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start new episodes.

        Args:
            seed: of all random numbers, or a list of one for each env, None leaving an env's as they are.
            options: "reset_mask", (num_envs,) bool: which envs; all others keep every bit. Also values of the
                environment's parameters per env.

        Returns:
            Observations and infos of all envs.

        Raises:
            DeclarationError: a seed or an option is wrong.
            TypeError, ValueError: the mask is.
            StoreError: the first reset is of some envs only.
        """
        active = set_options(self.world, options, self._batch.per_env)
        if active is not None and not self._has_begun:
            raise StoreError("the first reset() starts every env; call it without a mask")
        self.world.reset(active, seed)
        if isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))
        self._advance, self._has_begun = self._batch.step, True
        self._over = self._still_over(None if active is None else active.numpy())
        self._batch.pull()
        return self._observe(), self._infos.now(is_reset=True)

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Make one step in all envs.

        Args:
            actions: of ``action_space``; choices may have any integer type.

        Returns:
            Observations, rewards (num_envs,) float32, terminated and truncated (num_envs,) bool, infos.

        Raises:
            StoreError: actions of another shape or kind, or illegal ones; before the first reset; after ``close``;
                envs have ended and were not reset.
        """
        # the world's step
        if self._over is not None:
            raise StoreError(_have_ended(self._over))
        self._write(actions)
        self._advance()
        # ends, with what was last seen
        terminated, truncated = self._terminated(), self._truncated()
        infos = self._infos.now() if self._has_infos else {}
        if self._heeds_ends and _TRUE in b"".join((terminated, truncated)):
            if self._finals is None:
                self._over = terminated | truncated
            else:
                infos["final_obs"], infos["_final_obs"] = self._finals(), (ended := terminated | truncated)
                if self._has_infos:
                    infos |= self._infos.of_ended(ended)
        # ends of single agents
        if self._own_ends is not None:
            terminated, truncated = self._with_own_ends(infos, terminated, truncated)
        return self._observe(), self._rewards(), terminated, truncated, infos

    def _with_own_ends(
        self, infos: dict[str, Any], terminated: np.ndarray, truncated: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ends of rows, with those of single agents whose env continues; notes their last observations in infos."""
        ended = terminated | truncated
        died, cut = (ends & ~ended for ends in self._own_ends())  # type: ignore[misc]
        own = died | cut
        if self._finals is not None and own.any():
            seen = self._observe()
            infos["final_obs"] = _mixed(own, seen, infos.get("final_obs", seen))
            infos["_final_obs"] = ended | own
        return terminated | died, truncated | cut

    def _still_over(self, reset: np.ndarray | None) -> np.ndarray | None:
        """The ended envs that a reset of these, None meaning all, leaves; None if there are none."""
        if reset is None or self._over is None:
            return None
        left = self._over & ~np.repeat(reset, self._batch.per_env)
        return left if left.any() else None

    def render(self, envs: Iterable[int] | None = None) -> tuple[np.ndarray, ...]:
        """Pictures (height, width, 3) uint8 of envs of the world, all of them if none are named."""
        return rendered(self.world, self.render_mode, range(self.world.num_envs) if envs is None else envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the world."""
        self._advance = is_closed
        self.world.close()


def _have_ended(over: np.ndarray) -> str:
    *others, last = [str(env) for env in np.flatnonzero(over)]
    if len(others) > 7:
        others, last = others[:3], f"{len(others) - 2} more"
    envs = f"envs {', '.join(others)} and {last} have" if others else f"env {last} has"
    return f'{envs} ended; reset {"them" if others else "it"} with options={{"reset_mask": ...}}'


def _mixed(chosen: np.ndarray, one: Any, other: Any) -> Any:
    """Observations of ``one`` in the chosen rows, (size,) bool, else of ``other``; arrays or dicts of such."""
    if isinstance(one, dict):
        return {key: _mixed(chosen, part, other[key]) for key, part in one.items()}
    return np.where(chosen.reshape(-1, *(1,) * (one.ndim - 1)), one, other)
