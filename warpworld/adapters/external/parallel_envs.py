"""PettingZoo's parallel environments: several agents, of which some may leave before the episode ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from warpworld.adapters.external.agents import Agents
from warpworld.adapters.external.calls import (
    NOT_YET,
    Calling,
    EachHasAState,
    End,
    Observations,
    Outcome,
    StepRows,
    fill,
    made,
    of_env,
)
from warpworld.adapters.external.forms import late_mask
from warpworld.adapters.external.results import RESET, STEP, Place, by_agent, flag, infos_by_agent, number, results
from warpworld.environment import Group
from warpworld.errors import DeclarationError


class ParallelEnvs(EachHasAState):
    """Envs that are stepped one after the other.

    An agent that is reported terminated or truncated has left, whether or not the env keeps it in ``agents``. The
    episode ends with the last one. Agents are grouped as ``Agents`` says.

    Args:
        make: makes one env.
        num_envs: how many.
        where: library and environment, for messages.
    """

    def __init__(self, make: Callable[[], Any], num_envs: int, where: str = "external: pettingzoo") -> None:
        self._envs = made(make, num_envs, where)
        self._agents, self._where = Agents(self._envs[0], where), where
        self.requested: tuple[str, ...] = ("agent_mask", "agent_terminated", "agent_truncated")
        self._seen: list[dict[Any, dict[str, np.ndarray]]] = [{} for _ in range(num_envs)]
        self._live: list[list[Any]] = [[] for _ in range(num_envs)]
        self._gone: list[set[Any]] = [set() for _ in range(num_envs)]  # agents that ended, and are listed still
        self._legal = self._agents.everything(num_envs)

    @property
    def groups(self) -> tuple[Group, ...]:
        """Agents in groups."""
        return self._agents.groups

    @property
    def action_mask(self) -> np.ndarray | None:
        """Masks for the observations that were handed out last."""
        return self._legal if "action_mask" in self.requested else None

    def reset(self, seed: int) -> Observations:
        """Begin the first episode of every env."""
        for env, each in enumerate(self._envs):
            with Calling(self._where, "reset", env):
                given = each.reset(seed=seed + env)
            self._began(env, given)
        return self._agents.stacked(self._seen)

    def begin(self, envs: np.ndarray) -> Observations:
        """First observations of new episodes, of the envs that are marked."""
        for env in np.flatnonzero(envs).tolist():
            with Calling(self._where, "reset", env):
                given = self._envs[env].reset()
            self._began(env, given)
        return self._agents.stacked(self._seen)

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """A step of every env."""
        native = self._agents.native(actions)
        rows = StepRows(len(self._envs), len(self._agents.order))
        for env, each in enumerate(self._envs):
            own = {agent: of_env(native[agent], env) for agent in self._agents.present(each, env)}
            with Calling(self._where, "step", env, action=own):
                given = each.step(own)
            rows.add(env, self._agents.places, *self._take(env, given))
            if not self._live[env]:
                rows.end(env)
        return rows.outcome(self._agents.stacked(self._seen))

    def _take(self, env: int, given: Any) -> tuple[dict[Any, float], dict[Any, End]]:
        """Take what a step of an env returned: rewards and ends of the agents that took part."""
        # results by agent
        before, known = self._live[env], self._agents.order
        where = str(Place(self._where, env, call="step()"))
        seen, *of_agents, infos = results(given, STEP, where)
        paid, ended, cut = (
            by_agent(values, before, known, f"{where}: {name}")
            for name, values in zip(STEP[1:4], of_agents, strict=True)
        )
        # ends, by flags and by who is still there
        present = self._agents.present(self._envs[env], env)
        ends = {
            agent: End.of(
                flag(ended[agent], f"{where}: terminations[{agent!r}]"),
                flag(cut[agent], f"{where}: truncations[{agent!r}]"),
                agent in present,
            )
            for agent in before
        }
        # agents of the next step
        self._gone[env] = {agent for agent in present if agent in self._gone[env] or ends.get(agent, NOT_YET).is_one}
        self._live[env] = [agent for agent in present if agent not in self._gone[env]]
        # their observations
        infos = infos_by_agent(infos, where)
        self._look(env, by_agent(seen, self._live[env], known, f"{where}: observations"), infos, "step()")
        return {agent: number(paid[agent], f"{where}: rewards[{agent!r}]") for agent in before}, ends

    def _began(self, env: int, given: Any) -> None:
        """Take what a reset returned."""
        where = str(Place(self._where, env, call="reset()"))
        seen, infos = results(given, RESET, where)
        self._live[env], self._gone[env] = self._agents.present(self._envs[env], env), set()
        if not self._live[env]:
            raise DeclarationError(f"{where} left agents empty, expected those that begin the episode")
        infos = infos_by_agent(infos, where)
        if "action_mask" not in self.requested and self._agents.masks_may_come(infos):
            self.requested = (*self.requested, "action_mask")
            self._legal = self._agents.everything(len(self._envs))
        self._seen[env], self._legal[env] = {}, True
        known = self._agents.order
        self._look(env, by_agent(seen, self._live[env], known, f"{where}: observations"), infos, "reset()")

    def _look(self, env: int, seen: Mapping[Any, Any], infos: Mapping[Any, Any], call: str) -> None:
        """Keep what agents see and may do."""
        for agent, observation in seen.items():
            if agent == "__all__":
                continue
            self._seen[env][agent] = self._agents.parts(env, agent, observation, call)
            legal = self._agents.legal(env, agent, observation, infos.get(agent))
            self._legal[env, self._agents.places[agent]] = legal
            if "action_mask" not in self.requested and not legal.all():
                raise late_mask(str(Place(self._where, env, agent)))

    def beside(self, env: int) -> list[Any]:
        """Observations and masks of agents, and who takes part."""
        return [self._seen[env], self._live[env], sorted(self._gone[env], key=repr), self._legal[env].copy()]

    def take_beside(self, env: int, kept: list[Any]) -> None:
        """Write back what ``beside`` returned."""
        self._seen[env], self._live[env], gone, legal = kept
        self._gone[env] = set(gone)
        fill({"": self._legal}, env, {"": legal})

    def close(self) -> None:
        """Let go of the envs."""
        for env, each in enumerate(self._envs):
            with Calling(self._where, "close", env):
                each.close()
