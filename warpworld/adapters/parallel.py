"""A World of one env as a PettingZoo ``ParallelEnv``, and through PettingZoo's own converter as an ``AECEnv``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pettingzoo
from gymnasium.spaces import Box, Space
from pettingzoo.utils.conversions import parallel_to_aec_wrapper
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from warpworld.adapters.rules import (
    PROTOCOLS,
    Copied,
    check_render_mode,
    has_ended,
    is_closed,
    not_begun,
    rendered,
    set_options,
)
from warpworld.adapters.views import HostArrays, agent_views
from warpworld.environment import own_space
from warpworld.errors import StoreError, suggest
from warpworld.world import World


class ParallelEnv(Copied, pettingzoo.ParallelEnv):
    """PettingZoo's ParallelEnv of one env; agents are named by their group and number, such as "tagger_0".

    An agent leaves when its part of the episode has ended or was cut, and returns at the next reset, even if its
    environment revives it earlier: PettingZoo's agents die once. One that takes no part in a step (``agent_mask``) is
    not among ``agents`` until it does. An agent's infos hold its "action_mask" if the environment has one, and its
    part of the arrays that the environment lists in ``infos``.

    Attributes:
        world: what is stepped.
        possible_agents: names of all agents.
        agents: names of those that act in the next step.
        state_space: of ``state``.

    Args:
        world: of one env, with ``autoreset="disabled"``.
        render_mode: "rgb_array" for ``render``.

    Raises:
        DeclarationError: the world has several envs, or resets them itself.
    """

    _bound = ("_arrays", "_agents", "_rewards", "_terminated", "_truncated", "_gone", "_cut", "_present", "_advance")

    def __init__(self, world: World, *, render_mode: str | None = None) -> None:
        PROTOCOLS["parallel"].check(world)
        check_render_mode(render_mode)
        world.seal()
        name = f"warpworld/{world.environment.name}"
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": 30, "name": name, "is_parallelizable": True}
        self.world, self.render_mode = world, render_mode
        self._bind()
        agents = self._agents
        self.possible_agents = list(agents)
        self.agents: list[str] = []
        self.observation_spaces = {name: own_space(agent.group.observation) for name, agent in agents.items()}
        self.action_spaces = {name: own_space(agent.group.callers_action) for name, agent in agents.items()}
        self.state_space = Box(-np.inf, np.inf, (sum(part.size for part in self._parts()),))
        self._left: set[str] = set()
        self._refuse_step = not_begun

    def _bind(self) -> None:
        world = self.world
        self._arrays = arrays = HostArrays(world)
        self._agents = agent_views(world, arrays)
        self._rewards = arrays.read(world["rewards"])[0]
        self._terminated, self._truncated = (arrays.read(world[name]) for name in ("terminated", "truncated"))
        names = ("agent_terminated", "agent_truncated", "agent_mask")
        self._gone, self._cut, self._present = map(self._optional, names)
        self._advance = arrays.around(world.step)

    def _optional(self, name: str) -> np.ndarray | None:
        """One of the env's arrays on request, (agents,), if its kernels write it."""
        return self._arrays.read(self.world[name])[0] if name in self.world else None

    def _parts(self) -> list[np.ndarray]:
        """Arrays that all agents observe."""
        return [part for agent in self._agents.values() for part in agent.parts]

    def observation_space(self, agent: str) -> Space:
        """Observation space of this agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space:
        """Action space of this agent."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start a new episode.

        Args:
            seed: of all random numbers from here on.
            options: values of the environment's parameters per env. Other names are ignored: PettingZoo's own tests
                pass some.

        Returns:
            Observations and infos of the agents that act.
        """
        params = {name: value for name, value in (options or {}).items() if name in self.world.environment.per_env}
        set_options(self.world, params)
        self.world.reset(seed=seed)
        self._arrays.pull()
        self._left, self._refuse_step = set(), has_ended
        self.agents = list(self.possible_agents)  # a mask is of a step, and none was made
        return self._observed(self.agents), self._infos(self.agents)

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Make one step.

        Args:
            actions: of every agent in ``agents``; those of agents that have left are ignored.

        Returns:
            Observations, rewards, terminated, truncated and infos of the agents that acted, and of those that enter.

        Raises:
            StoreError: an agent has no action, or one that is illegal; there is no such agent; the episode has ended,
                or none has begun; after ``close``.
        """
        # the step of the world
        if not self.agents:
            self._refuse_step()
        self._write(actions)
        self._advance()
        # ends of the env, and of single agents
        ended, cut = bool(self._terminated[0]), bool(self._truncated[0])
        gone, own_cut = self._marked(self._gone), self._marked(self._cut)
        self._left |= gone | own_cut
        # agents that are reported, and those that act next
        after = [] if ended or cut else self._acting()
        reported = [*self.agents, *(name for name in after if name not in self.agents)]
        self.agents = after
        return (
            self._observed(reported),
            {name: float(self._rewards[self._agents[name].index]) for name in reported},
            {name: ended or name in gone for name in reported},
            {name: cut or name in own_cut for name in reported},
            self._infos(reported),
        )

    def _write(self, actions: Mapping[str, Any]) -> None:
        if not isinstance(actions, Mapping):
            raise StoreError(f"actions are {type(actions).__name__}, expected a dict with a key for each agent")
        for name in actions:
            if name not in self._agents:
                raise StoreError(f"actions: no agent {name!r}.{suggest(str(name), self._agents)}")
        for name in self.agents:
            if name not in actions:
                raise StoreError(f"actions: none for '{name}', which is among the agents")
            self._agents[name].write(actions[name])

    def _marked(self, flags: np.ndarray | None) -> set[str]:
        """The agents that acted and that an array on request marks."""
        return set() if flags is None else {name for name in self.agents if flags[self._agents[name].index]}

    def _acting(self) -> list[str]:
        present = self._present
        return [
            name
            for name, agent in self._agents.items()
            if name not in self._left and (present is None or present[agent.index])
        ]

    def _observed(self, names: list[str]) -> dict[str, Any]:
        return {name: self._agents[name].observe() for name in names}

    def _infos(self, names: list[str]) -> dict[str, dict[str, Any]]:
        return {name: self._agents[name].infos() for name in names}

    def state(self) -> np.ndarray:
        """The observations of all agents, including those that have left: one vector, float32."""
        return np.concatenate([part.ravel() for part in self._parts()]).astype(np.float32)

    def render(self) -> np.ndarray:
        """A picture (height, width, 3) uint8 of the env's current state."""
        return rendered(self.world, self.render_mode, [0])[0]

    def close(self) -> None:
        """Close the world."""
        self.agents, self._refuse_step = [], is_closed
        self.world.close()

    def aec(self) -> pettingzoo.AECEnv:
        """Return this env with agents that act in turn; it is stepped after all have acted."""
        return AecEnv(parallel_to_aec_wrapper(self))


class AecEnv(Copied, OrderEnforcingWrapper):
    """PettingZoo's conversion of a ParallelEnv, with PettingZoo's own check of the order of calls."""

    def __str__(self) -> str:
        return str(self.unwrapped)


def aec_env(world: World, *, render_mode: str | None = None) -> pettingzoo.AECEnv:
    """A World of one env as a PettingZoo ``AECEnv``; arguments and errors as of ``ParallelEnv``."""
    PROTOCOLS["aec"].check(world)
    return ParallelEnv(world, render_mode=render_mode).aec()
