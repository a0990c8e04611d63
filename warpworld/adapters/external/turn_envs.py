"""PettingZoo's turn-based environments (AEC), in which one agent acts at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from warpworld.adapters.external.agents import Agents
from warpworld.adapters.external.calls import (
    Calling,
    EachHasAState,
    End,
    Observations,
    Outcome,
    StepRows,
    attribute,
    fill,
    made,
    of_env,
)
from warpworld.adapters.external.results import Place, by_agent, flag, infos_by_agent, number
from warpworld.environment import Group
from warpworld.errors import DeclarationError


class TurnEnvs(EachHasAState):
    """Envs that are stepped one after the other; a step of an env is the turn of one agent.

    All agents see the env and are paid in each step, as agents of parallel environments are. The mask of those that
    wait allows nothing, and their actions are ignored; so learners value what they see, and learn no action from it.

    Args:
        make: makes one env.
        num_envs: how many.
        where: library and environment, for messages.
    """

    requested: tuple[str, ...]

    def __init__(self, make: Callable[[], Any], num_envs: int, where: str = "external: pettingzoo") -> None:
        self._envs = made(make, num_envs, where)
        self._agents, self._where = Agents(self._envs[0], where), where
        choose = self._agents.num_choices > 0
        self.requested = ("agent_mask", "agent_terminated", "agent_truncated", *(["action_mask"] if choose else []))
        self._seen: list[dict[Any, dict[str, np.ndarray]]] = [{} for _ in range(num_envs)]
        self._live: list[list[Any]] = [[] for _ in range(num_envs)]
        self._legal = ~self._agents.everything(num_envs)
        self._has_begun = False

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
                each.reset(seed=seed + env)
            self._began(env)
        return self._agents.stacked(self._seen)

    def begin(self, envs: np.ndarray) -> Observations:
        """First observations of new episodes, of the envs that are marked."""
        for env in np.flatnonzero(envs).tolist():
            with Calling(self._where, "reset", env):
                self._envs[env].reset()
            self._began(env)
        return self._agents.stacked(self._seen)

    def _began(self, env: int) -> None:
        """Take what a reset left."""
        each = self._envs[env]
        self._live[env], self._seen[env] = self._agents.present(each, env), {}
        if not self._live[env]:
            where = Place(self._where, env, call="reset()")
            raise DeclarationError(f"{where} left agents empty, expected those that begin the episode")
        if not self._has_begun and self._agents.masks_may_come(self._infos(env)):
            self._legal = ~self._agents.everything(len(self._envs))
        self._has_begun = True
        self._look(env, self._live[env])
        self._give_turn(env)

    def _infos(self, env: int) -> Mapping[Any, Any]:
        return infos_by_agent(self._attribute(env, "infos"), str(Place(self._where, env)))

    def _selected(self, env: int) -> Any:
        """The agent whose turn it is; None if an env does not say it."""
        return self._attribute(env, "agent_selection")

    def _attribute(self, env: int, name: str) -> Any:
        return attribute(self._envs[env], name, self._where, env)

    def _by_agent(self, env: int, name: str, needed: Iterable[Any]) -> Mapping[Any, Any]:
        """An attribute that maps agents to values; those in ``needed`` have one."""
        where = f"{Place(self._where, env, call='after step()')}: {name}"
        return by_agent(self._attribute(env, name), needed, self._agents.order, where)

    def _observed(self, env: int, agent: Any) -> Any:
        with Calling(self._where, "observe", env, agent):
            return self._envs[env].observe(agent)

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """A step of every env."""
        native = self._agents.native(actions)
        rows = StepRows(len(self._envs), len(self._agents.order))
        for env, each in enumerate(self._envs):
            agent = self._selected(env)
            own = of_env(native[agent], env)
            with Calling(self._where, "step", env, agent, own):
                each.step(own)
            rows.add(env, self._agents.places, *self._take(env))
            if not self._live[env]:
                rows.end(env)
        return rows.outcome(self._agents.stacked(self._seen))

    def _take(self, env: int) -> tuple[dict[Any, float], dict[Any, End]]:
        """Take what a turn has left in an env: rewards and ends of the agents that took part."""
        each, before = self._envs[env], self._live[env]
        # results by agent
        where, present = Place(self._where, env, call="after step()"), self._agents.present(each, env)
        there = [agent for agent in before if agent in present]
        given = [self._by_agent(env, name, there) for name in ("rewards", "terminations", "truncations")]
        # rewards and ends
        paid = {agent: number(given[0].get(agent, 0.0), f"{where}: rewards[{agent!r}]") for agent in before}
        ended, cut = (
            {agent: flag(flags.get(agent, False), f"{where}: {name}[{agent!r}]") for agent in before}
            for name, flags in zip(("terminations", "truncations"), given[1:], strict=True)
        )
        ends = {agent: End.of(ended[agent], cut[agent], agent in present) for agent in before}
        # agents that continue, and whose turn it is
        self._look(env, there)
        self._live[env] = [agent for agent in before if not ends[agent].is_one]
        self._legal[env] = False
        if self._live[env]:
            self._remove_ended(env)
            self._give_turn(env)
        return paid, ends

    def _look(self, env: int, agents: list[Any]) -> None:
        """Keep what agents see."""
        for agent in agents:
            self._seen[env][agent] = self._agents.parts(env, agent, self._observed(env, agent), "observe()")

    def _remove_ended(self, env: int) -> None:
        """Let agents that ended make the empty turn by which PettingZoo's environments remove them."""
        each = self._envs[env]
        for _ in range(len(self._agents.order)):
            selected = self._selected(env)
            if selected not in self._agents.present(each, env) or selected in self._live[env]:
                break
            with Calling(self._where, "step", env, selected):
                each.step(None)
        present = self._agents.present(each, env)
        new = [agent for agent in present if agent not in self._live[env] and not self._is_over(env, agent)]
        self._live[env] += new
        self._look(env, new)

    def _is_over(self, env: int, agent: Any) -> bool:
        where = Place(self._where, env, call="after step()")
        return any(
            flag(self._by_agent(env, name, ()).get(agent, False), f"{where}: {name}[{agent!r}]")
            for name in ("terminations", "truncations")
        )

    def _give_turn(self, env: int) -> None:
        """Allow the agent whose turn it is what the env allows it, and all others nothing."""
        agent = self._selected(env)
        if agent not in self._live[env]:
            raise DeclarationError(
                f"{Place(self._where, env)}: agent_selection is {agent!r}, expected one that has not ended: "
                f"{', '.join(map(repr, self._live[env]))}"
            )
        self._legal[env] = False
        self._legal[env, self._agents.places[agent]] = self._agents.legal(
            env, agent, self._observed(env, agent), self._infos(env).get(agent)
        )

    def beside(self, env: int) -> list[Any]:
        """Observations and masks of agents, and who takes part."""
        return [self._seen[env], self._live[env], self._legal[env].copy()]

    def take_beside(self, env: int, kept: list[Any]) -> None:
        """Write back what ``beside`` returned."""
        self._seen[env], self._live[env], legal = kept
        fill({"": self._legal}, env, {"": legal})

    def close(self) -> None:
        """Let go of the envs."""
        for env, each in enumerate(self._envs):
            with Calling(self._where, "close", env):
                each.close()
