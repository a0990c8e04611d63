"""A World of many envs in PettingZoo's words: dicts by agent, whose values have a leading dimension of envs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space
from gymnasium.vector.utils import batch_space

from warpworld.adapters.rules import PROTOCOLS, Copied, check_render_mode, is_closed, not_begun, rendered, set_options
from warpworld.adapters.vector import MODES
from warpworld.adapters.views import HostArrays, InfosOfAgents, SeenByAgents, agent_batches
from warpworld.errors import StoreError, suggest
from warpworld.world import Seed, World

ByAgent = dict[str, Any]


class ParallelVectorEnv(Copied):
    """Many envs of PettingZoo's ParallelEnv, stepped together; agents are named as in ParallelEnv.

    PettingZoo has no class for this. Names, arguments and results are those of its ParallelEnv. What comes with many
    envs has Gymnasium's names: ``num_envs``, ``single_observation_space``, ``autoreset_mode``, "final_obs",
    "reset_mask". In each env agents leave and return as in a ParallelEnv of it. Dicts hold all agents; where an env's
    ParallelEnv would leave one out, its reward is 0 and it has no end.

    Infos of an agent hold its "action_mask" (num_envs, choices) int8 and its "agent_mask" (num_envs,) if the
    environment has them, and its part of the arrays that the environment lists in ``infos``. Where envs ended and were
    reset in the same step, they also hold "final_obs", and "final_info" if there is any, with "_final_obs" and
    "_final_info" (num_envs,) bool, which mark the envs that these count for.

    Attributes:
        world: what is stepped.
        num_envs: envs.
        possible_agents: names of all agents.
        acting: by agent, (num_envs,) bool: the envs in which it acts in the next step.
        autoreset_mode: when an env whose episode ended is reset.
        single_state_space: of one env's ``state``.
        state_space: of ``state``.

    Args:
        world: with ``check_actions=True`` it refuses illegal actions.
        copy: return copies; otherwise observations are views of the store if it lies in host memory, valid until the
            next step.
        render_mode: "rgb_array" for ``render``.
    """

    _bound = ("_arrays", "_agents", "_seen", "_infos", "_finals", "_rewards", "_ends", "_own", "_timestep", "_advance")

    def __init__(self, world: World, *, copy: bool = True, render_mode: str | None = None) -> None:
        PROTOCOLS["parallel_vector"].check(world)
        check_render_mode(render_mode)
        if world.autoreset == "same_step":
            world.request("final_observations")
            world.keep_last_infos()
        world.seal()
        self.world, self.render_mode, self.num_envs = world, render_mode, world.num_envs
        self.autoreset_mode = MODES[world.autoreset]
        self.metadata = {
            "render_modes": ["rgb_array"],
            "render_fps": 30,
            "name": f"warpworld/{world.environment.name}",
            "is_parallelizable": True,
            "autoreset_mode": self.autoreset_mode,
        }
        self._copy, self._refusal, self._spaces = copy, not_begun, dict[tuple[str, str], Space]()
        self._bind()
        self.possible_agents = list(self._agents)
        lead = (world.num_envs, world.num_agents)
        self._acts: np.ndarray = np.zeros(lead, np.bool_)  # in the next step
        self._left: np.ndarray = np.zeros(lead, np.bool_)  # until their env's episode ends
        self._over: np.ndarray = np.zeros(world.num_envs, np.bool_)  # envs that wait for a reset by the caller
        size = self._seen.states().shape[1]
        self.single_state_space = Box(-np.inf, np.inf, (size,))
        self.state_space = batch_space(self.single_state_space, world.num_envs)

    def _bind(self) -> None:
        world = self.world
        self._arrays = arrays = HostArrays(world)
        self._agents = agent_batches(world, arrays)
        self._seen, self._infos = SeenByAgents(world, arrays), InfosOfAgents(world, arrays)
        self._finals = _Finals(world) if world.autoreset == "same_step" else None
        self._rewards, *self._ends = (arrays.read(world[name]) for name in ("rewards", "terminated", "truncated"))
        names = ("agent_terminated", "agent_truncated", "agent_mask")
        self._own = [arrays.read(world[name]) if name in world else None for name in names]
        self._timestep = arrays.read(world["timestep"])
        self._advance = arrays.around(self._step_world)

    # ---- agents and spaces -------------------------------------------------------------------------------------------
    @property
    def agents(self) -> list[str]:
        """Names of the agents that act in the next step in at least one env."""
        some: Any = self._acts.any(0)
        return [name for name, agent in self._agents.items() if some[agent.index]]

    @property
    def acting(self) -> dict[str, np.ndarray]:
        """Masks by agent, (num_envs,) bool: the envs in which it acts in the next step."""
        return self._by_agent(self._acts.copy())

    @property
    def num_agents(self) -> int:
        """Number of ``agents``."""
        return len(self.agents)

    @property
    def max_num_agents(self) -> int:
        """Number of ``possible_agents``."""
        return len(self.possible_agents)

    @property
    def unwrapped(self) -> ParallelVectorEnv:
        """This env."""
        return self

    def single_observation_space(self, agent: str) -> Space:
        """Observation space of this agent in one env."""
        return self._space("observation", agent, False)

    def single_action_space(self, agent: str) -> Space:
        """Action space of this agent in one env."""
        return self._space("action", agent, False)

    def observation_space(self, agent: str) -> Space:
        """Observation space of this agent in all envs: the batched ``single_observation_space``."""
        return self._space("observation", agent, True)

    def action_space(self, agent: str) -> Space:
        """Action space of this agent in all envs: the batched ``single_action_space``."""
        return self._space("action", agent, True)

    def _space(self, kind: str, agent: str, is_batched: bool) -> Space:
        if agent not in self._agents:
            raise StoreError(f"{kind}_space(): no agent {agent!r}.{suggest(str(agent), self._agents)}")
        key = (f"{kind}s" if is_batched else kind, agent)
        if key not in self._spaces:  # made when asked for: batched bounds of many agents and envs need memory
            own = self._agents[agent].space(kind)
            self._spaces[key] = batch_space(own, self.num_envs) if is_batched else own
        return self._spaces[key]

    # ---- episodes ----------------------------------------------------------------------------------------------------
    def reset(
        self, seed: Seed | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByAgent, dict[str, ByAgent]]:
        """Start new episodes.

        Args:
            seed: of all random numbers, each env on its own trajectory of it; or a list of one for each env, which
                starts each on the trajectory of a ParallelEnv of its seed, None leaving an env's as they are.
            options: "reset_mask", (num_envs,) bool: which envs; all others keep every bit. Also values of the
                environment's parameters per env.

        Returns:
            Observations and infos of all agents.

        Raises:
            DeclarationError: a seed or an option is wrong.
            TypeError, ValueError: the mask is.
            StoreError: the first reset is of some envs only; after ``close``.
        """
        if self._refusal is is_closed:
            is_closed()
        active = set_options(self.world, options)
        if active is not None and self._refusal is not_begun:
            raise StoreError("the first reset() starts every env; call it without a mask")
        self.world.reset(active, seed)
        self._arrays.pull()
        self._refusal = _all_ended
        begun = slice(None) if active is None else active.numpy()
        self._acts[begun], self._left[begun], self._over[begun] = True, False, False
        return self._seen.read(self._copy), self._infos_now()

    def step(self, actions: Mapping[str, Any]) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, dict[str, ByAgent]]:
        """Make one step in all envs; without autoreset in those whose episodes have not ended.

        Args:
            actions: (num_envs, ...) of every agent in ``agents``. Entries of envs in which an agent does not act are
                ignored, and so are agents that act nowhere.

        Returns:
            Observations, rewards (num_envs,) float32, terminated and truncated (num_envs,) bool, and infos, by agent.

        Raises:
            StoreError: an agent has no actions, or such that are illegal; there is no such agent; all episodes have
                ended, or none has begun; after ``close``.
        """
        # the step of the world
        if self._refusal is not _all_ended or (self.world.autoreset == "disabled" and not self._acts.any()):
            self._refusal()
        self._write(actions)
        before, waited = self._acts, self._over
        self._advance()
        # ends of envs and of single agents
        ended, cut = (np.asarray(ends & ~waited) for ends in self._ends)
        over, first = ended | cut, self._timestep == 0
        gone, own_cut = (self._marked(flags, first) & before for flags in self._own[:2])
        self._left |= gone | own_cut
        # agents that act next, and results that count
        after = ~self._left if self._own[2] is None else ~self._left & (self._own[2] | first[:, None])
        counted = before | (after & ~(over | waited)[:, None])
        self._begin_after(over, after)
        return (
            self._seen.read(self._copy),
            self._by_agent(np.where(counted, self._rewards, np.float32(0))),
            self._by_agent((ended[:, None] | gone) & before),
            self._by_agent((cut[:, None] | own_cut) & before),
            self._infos_now(over, before),
        )

    def _step_world(self) -> None:
        if self._over.any():
            import torch

            self.world.step_some(torch.from_numpy(~self._over))
        else:
            self.world.step()

    def _begin_after(self, over: np.ndarray, after: np.ndarray) -> None:
        """Note who acts next: all agents in envs that are reset, none in those that wait for the caller's reset."""
        if self.world.autoreset == "disabled":
            self._over = self._over | over | ~after.any(1)  # without agents a ParallelEnv's episode is over
            after[self._over] = False
        else:
            after[over], self._left[over] = True, False
        self._acts = after

    def _write(self, actions: Mapping[str, Any]) -> None:
        if not isinstance(actions, Mapping):
            raise StoreError(f"actions are {type(actions).__name__}, expected a dict with a key for each agent")
        for name in actions:
            if name not in self._agents:
                raise StoreError(f"actions: no agent {name!r}.{suggest(str(name), self._agents)}")
        everywhere: Any = self._acts.all(0)
        for name, agent in self._agents.items():
            if name in actions:
                agent.write(actions[name], None if everywhere[agent.index] else self._acts[:, agent.index])
            elif self._acts[:, agent.index].any():
                env = self._acts[:, agent.index].argmax()
                raise StoreError(f"actions: none for '{name}', which acts in env {env}")

    def _marked(self, flags: np.ndarray | None, first: np.ndarray) -> np.ndarray:
        """Flags of agents in this step, (num_envs, agents); none where an episode has only begun."""
        if flags is None or self.world.autoreset == "same_step":
            return np.zeros_like(self._acts) if flags is None else flags
        return flags & ~first[:, None]

    def _by_agent(self, values: np.ndarray) -> ByAgent:
        """Parts of an array (num_envs, agents) by agent."""
        return {name: values[:, agent.index] for name, agent in self._agents.items()}

    def _infos_now(self, over: np.ndarray | None = None, before: Any = None) -> dict[str, ByAgent]:
        infos: dict[str, ByAgent] = {name: self._infos.of(agent) for name, agent in self._agents.items()}
        if self._own[2] is not None and (over is None or self.world.autoreset == "next_step"):
            for own in infos.values():  # the mask is of a step, and none was made where an episode has only begun
                own["agent_mask"][self._timestep == 0] = True
        if self._finals is not None and over is not None and over.any():
            for name, found in self._finals.read(self._agents, over[:, None] & before).items():
                infos[name] |= found
        return infos

    def state(self) -> np.ndarray:
        """Observations of all agents, including those that have left: (num_envs, entries), float32."""
        return self._seen.states()

    def render(self, envs: Iterable[int] | None = None) -> tuple[np.ndarray, ...]:
        """Pictures (height, width, 3) uint8 of these envs, all of them if none are named."""
        return rendered(self.world, self.render_mode, range(self.num_envs) if envs is None else envs)

    def close(self) -> None:
        """Close the world."""
        self._acts[:], self._refusal = False, is_closed
        self.world.close()

    def __str__(self) -> str:
        return f"{self.metadata['name']}, {self.num_envs} envs"


class _Finals:
    """Last observations and infos of episodes whose envs were reset in the same step."""

    def __init__(self, world: World) -> None:
        self._arrays = HostArrays(world)
        self._seen = SeenByAgents(world, self._arrays, "final_")
        self._infos = InfosOfAgents(world, self._arrays, world.infos, "final_")

    def read(self, agents: Mapping[str, Any], ended: np.ndarray) -> dict[str, ByAgent]:
        """Infos of the agents whose episodes ended in a step: ``ended`` is (num_envs, agents) bool."""
        self._arrays.pull()
        found = {}
        for name, seen in self._seen.read(copy=True).items():
            own = ended[:, agents[name].index]
            found[name] = {"final_obs": seen, "_final_obs": own.copy()}
            if self._infos:
                found[name] |= {"final_info": self._infos.of(agents[name]), "_final_info": own.copy()}
        return found


def _all_ended() -> None:
    """Refuse a step in which no agent acts."""
    raise StoreError("all episodes have ended; call reset() before step()")
