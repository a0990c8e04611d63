"""A World as a Stable-Baselines3 ``VecEnv``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from stable_baselines3.common.vec_env import VecEnv

from warpworld.adapters.rules import (
    PROTOCOLS,
    Copied,
    check_names,
    check_render_mode,
    frame,
    is_closed,
    not_begun,
    set_options,
)
from warpworld.adapters.views import Batch, Infos, names_of_lives
from warpworld.environment import is_nested, own_space
from warpworld.errors import DeclarationError, suggest
from warpworld.world import World

_TRUE = b"\1"  # looked for in the bytes of ends: a third of the time of any()


class Sb3VecEnv(Copied, VecEnv):
    """Envs, or all agents of the envs, that are reset in the step in which their episodes end.

    ``get_attr`` and ``set_attr`` access the arrays of the store by name. ``get_attr`` also reads the environment's
    parameters and the "group" of a row, and ``env_method("action_masks")`` its masks. Infos hold "agent_mask" and
    "agent_terminated" where the environment has them. A row is done when its env's episode ends, and when its agent's
    part of it ends.

    Attributes:
        world: what is stepped.
        row_groups: name of the group of each row; of each agent of an env, if an env is a row.

    Args:
        world: with ``autoreset="same_step"``.
        agents: "rows" makes each agent an env of the batch, "axis" keeps those of an env together.
        render_mode: "rgb_array" for ``render``.

    Raises:
        DeclarationError: the world resets in another way, or its groups differ in their spaces.
    """

    _bound = ("_batch", "_finals", "_advance", "_masks", "_infos", "_last")

    def __init__(self, world: World, *, agents: str = "rows", render_mode: str | None = None) -> None:
        PROTOCOLS["sb3"].check(world)
        check_render_mode(render_mode)
        check_actions(world)
        world.request("final_observations")
        world.keep_last_infos()
        self.world, self.render_mode = world, render_mode
        self._agents, self._has_begun = agents, False
        self._bind()
        batch, self.row_groups = self._batch, self._batch.row_groups
        super().__init__(batch.size, batch.single_observation_space, batch.single_action_space)

    def _bind(self) -> None:
        world = self.world
        self._batch = batch = Batch(world, self._agents)
        self._finals, self._advance = batch.finals(copy=False), batch.step if self._has_begun else not_begun
        self._masks = batch.arrays(["action_mask"]) if "action_mask" in world else None
        self._infos = Infos(batch, world, [*dict.fromkeys((*world.infos, *names_of_lives(world)))])
        self._last = batch.arrays(world.infos, "final_")

    def reset(self) -> Any:
        """Start new episodes everywhere, with the seeds of ``seed``; observations of all envs."""
        set_options(self.world, self._joined_options())
        seeds = self._seeds[:: self._batch.per_env]
        self.world.reset(seed=None if all(seed is None for seed in seeds) else seeds)
        self._batch.pull()
        self._advance, self._has_begun = self._batch.step, True
        self.reset_infos = self._infos_now(is_reset=True)
        self._reset_seeds()
        self._reset_options()
        return self._batch.observe()

    def step_async(self, actions: np.ndarray) -> None:
        """Store actions for ``step_wait``."""
        self._batch.write(actions)

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Make one step: observations, rewards, dones and infos of all envs."""
        batch = self._batch
        # the world's step
        self._advance()
        terminated, truncated = batch.terminated(), batch.truncated()
        dones = terminated | truncated
        infos = self._infos_now()
        # envs that ended
        if _TRUE in dones.tobytes():
            self._note_ends(infos, np.flatnonzero(dones), self._finals(), truncated & ~terminated)
            for name, values in self._last().items():
                for row in np.flatnonzero(dones).tolist():
                    infos[row][name] = values[row]
        # agents that ended alone
        if batch.own_ends is not None:
            died, cut = batch.own_ends()
            own = (died | cut) & ~dones
            if own.any():
                self._note_ends(infos, np.flatnonzero(own), batch.observe(), cut & ~died)
                dones = dones | own
        return batch.observe(), batch.rewards(), dones, infos

    def _note_ends(self, infos: list[dict[str, Any]], rows: np.ndarray, finals: Any, cut: np.ndarray) -> None:
        """Note the last observation of each of some rows, and whether a limit ended its episode."""
        if isinstance(finals, dict):
            parts = {key: part[rows] for key, part in finals.items()}
            lasts: Any = [{key: part[place] for key, part in parts.items()} for place in range(len(rows))]
        else:
            lasts = finals[rows]
        for row, last, limit in zip(rows.tolist(), lasts, cut[rows].tolist(), strict=True):
            infos[row] |= {"terminal_observation": last, "TimeLimit.truncated": limit}

    def _infos_now(self, is_reset: bool = False) -> list[dict[str, Any]]:
        arrays = self._infos.arrays(is_reset) if is_reset or self._infos else {}
        if not arrays:
            return [{} for _ in range(self.num_envs)]
        return [dict(zip(arrays, values, strict=True)) for values in zip(*arrays.values(), strict=True)]

    def _joined_options(self) -> dict[str, np.ndarray]:
        """Values that ``set_options`` set: for each parameter one value for each env."""
        options = self._options[:: self._batch.per_env]
        if any(each.keys() != options[0].keys() for each in options):
            raise DeclarationError("options: give the same names for every env")
        check_names(options[0], self.world.environment.per_env)
        return {name: np.array([each[name] for each in options]) for name in options[0]}

    def close(self) -> None:
        """Close the world."""
        self._advance = is_closed
        self.world.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        """A picture of each env."""
        return [frame(self.world, row // self._batch.per_env) for row in range(self.num_envs)]

    # ---- single envs -------------------------------------------------------------------------------------------------
    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return each env's part of an array, a parameter, or an attribute of this object."""
        rows = self._get_indices(indices)
        if attr_name in self.world.data and self.world.data.array(attr_name).per != "world":
            return [self._part(attr_name, row).cpu().numpy().copy() for row in rows]
        if attr_name == "group":
            return [self.row_groups[row] for row in rows]
        if attr_name == "action_masks" and self._masks is not None:
            masks = self._masks()["action_mask"]
            return [masks[row] for row in rows]
        for holder in (self.world.environment.params, self):
            if hasattr(holder, attr_name):
                value = getattr(holder, attr_name)
                return [own_space(value) if isinstance(value, Space) else value for _ in rows]
        raise AttributeError(f"no array or parameter '{attr_name}'.{suggest(attr_name, self.world.data)}")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Write a value into each env's part of an array."""
        if attr_name not in self.world.data or self.world.data.array(attr_name).per == "world":
            raise AttributeError(f"no array '{attr_name}' to set.{suggest(attr_name, self.world.data)}")
        for row in self._get_indices(indices):
            self._part(attr_name, row)[...] = _as_tensor(value)

    def _part(self, name: str, row: int) -> Any:
        """The part of an array that is of this env of the batch: of one agent, where agents are rows."""
        env, place = divmod(row, self._batch.per_env)
        is_row = self._batch.per_env == self.world.num_agents
        is_of_agent = is_row and self.world.data.array(name).per == "agent"
        return self.world[name][env, self._batch.agents[place]] if is_of_agent else self.world[name][env]

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Return each env's "action_masks", or its picture ("render")."""
        if method_name == "action_masks":
            return self.get_attr("action_masks", indices)
        if method_name == "render":
            return [frame(self.world, row // self._batch.per_env) for row in self._get_indices(indices)]
        raise AttributeError(f"no method '{method_name}': envs of a World have action_masks and render")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """False: envs of a World are not wrapped individually."""
        return [False for _ in self._get_indices(indices)]


def _as_tensor(value: Any) -> Any:
    import torch

    return torch.as_tensor(value)


def check_actions(world: World) -> None:
    """Refuse actions of several parts, for which stable-baselines3 has no policies.

    Raises:
        DeclarationError: a group acts in a Dict or Tuple.
    """
    for group in world.groups.values():
        if is_nested(group.callers_action):
            raise DeclarationError(
                f"api='sb3': group '{group.name}' acts in {group.callers_action}, expected a Box, Discrete, "
                "MultiDiscrete or MultiBinary: stable-baselines3 has no policies for a Dict or Tuple of actions; use "
                "api='gymnasium'"
            )
