"""PettingZoo's turn-based environments (AEC), in which one agent acts at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from warpworld.adapters.external.action_masks import can_be_masked
from warpworld.adapters.external.agents import Agents
from warpworld.adapters.external.ends import End, StepRows
from warpworld.adapters.external.envs import Observations, Outcome
from warpworld.adapters.external.given import by_agent, flag, number
from warpworld.environment import Group
from warpworld.errors import DeclarationError


class TurnEnvs:
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
        self._envs = [make() for _ in range(num_envs)]
        self._agents, self._where = Agents(self._envs[0], where), where
        self.groups: tuple[Group, ...] = self._agents.groups
        choose = any(can_be_masked(group.action) for group in self.groups)
        self.requested = ("agent_mask", "agent_terminated", "agent_truncated", *(["action_mask"] if choose else []))
        self._seen: list[dict[Any, dict[str, np.ndarray]]] = [{} for _ in range(num_envs)]
        self._live: list[list[Any]] = [[] for _ in range(num_envs)]
        self._legal = np.zeros((num_envs, len(self._agents.order), self._agents.num_choices), np.bool_)

    @property
    def action_mask(self) -> np.ndarray | None:
        """Masks for the observations that were handed out last."""
        return self._legal if "action_mask" in self.requested else None

    def reset(self, seed: int) -> Observations:
        """Begin the first episode of every env."""
        for env, each in enumerate(self._envs):
            each.reset(seed=seed + env)
            self._began(env)
        return self._agents.stacked(self._seen)

    def begin(self, envs: np.ndarray) -> Observations:
        """First observations of new episodes, of the envs that are marked."""
        for env in np.flatnonzero(envs).tolist():
            self._envs[env].reset()
            self._began(env)
        return self._agents.stacked(self._seen)

    def _began(self, env: int) -> None:
        """Take what a reset left."""
        each = self._envs[env]
        self._live[env], self._seen[env] = self._agents.present(each), {}
        if not self._live[env]:
            raise DeclarationError(f"{self._where}: reset() left agents empty, expected those that begin the episode")
        self._look(env, self._live[env])
        self._give_turn(env)

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """A step of every env."""
        native = self._agents.native(actions)
        rows = StepRows(len(self._envs), len(self._agents.order))
        for env, each in enumerate(self._envs):
            each.step(native[each.agent_selection][env])
            rows.add(env, self._agents.places, *self._take(env))
            if not self._live[env]:
                rows.end(env)
        return rows.outcome(self._agents.stacked(self._seen))

    def _take(self, env: int) -> tuple[dict[Any, float], dict[Any, End]]:
        """Take what a turn has left in an env: rewards and ends of the agents that took part."""
        each, before, where = self._envs[env], self._live[env], f"{self._where}: after step()"
        present = self._agents.present(each)
        given = [
            by_agent(getattr(each, name), [agent for agent in before if agent in present], self._agents.order, where)
            for name, where in ((name, f"{where}: {name}") for name in ("rewards", "terminations", "truncations"))
        ]
        paid = {agent: number(given[0].get(agent, 0.0), f"{where}: rewards[{agent!r}]") for agent in before}
        ended, cut = (
            {agent: flag(flags.get(agent, False), f"{where}: {name}[{agent!r}]") for agent in before}
            for name, flags in zip(("terminations", "truncations"), given[1:], strict=True)
        )
        ends = {agent: End.of(ended[agent], cut[agent], agent in present) for agent in before}
        self._look(env, [agent for agent in before if agent in present])
        self._live[env] = [agent for agent in before if not ends[agent].is_one]
        self._legal[env] = False
        if self._live[env]:
            self._remove_ended(env)
            self._give_turn(env)
        return paid, ends

    def _look(self, env: int, agents: list[Any]) -> None:
        """Keep what agents see."""
        for agent in agents:
            self._seen[env][agent] = self._agents.parts(agent, self._envs[env].observe(agent))

    def _remove_ended(self, env: int) -> None:
        """Let agents that ended make the empty turn by which PettingZoo's environments remove them."""
        each = self._envs[env]
        for _ in range(len(self._agents.order)):
            if not each.agents or each.agent_selection in self._live[env]:
                break
            each.step(None)
        new = [
            agent for agent in self._agents.present(each) if agent not in self._live[env] and not _is_over(each, agent)
        ]
        self._live[env] += new
        self._look(env, new)

    def _give_turn(self, env: int) -> None:
        """Allow the agent whose turn it is what the env allows it, and all others nothing."""
        each = self._envs[env]
        agent = each.agent_selection
        if agent not in self._live[env]:
            raise DeclarationError(
                f"{self._where}: agent_selection is {agent!r}, expected one that has not ended: "
                f"{', '.join(map(repr, self._live[env]))}"
            )
        self._legal[env] = False
        self._legal[env, self._agents.places[agent]] = self._agents.legal(
            agent, each.observe(agent), each.infos.get(agent)
        )

    def close(self) -> None:
        """Let go of the envs."""
        for each in self._envs:
            each.close()


def _is_over(env: Any, agent: Any) -> bool:
    return bool(env.terminations.get(agent, False) or env.truncations.get(agent, False))
