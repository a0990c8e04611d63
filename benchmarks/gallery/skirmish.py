"""Skirmish beside JaxMARL's SMAX, whose rules these are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .case import Case, Peer
from .stepping import DRAWS, in_turn


def jaxmarl(scenario: str) -> Peer:
    """JaxMARL under one jitted, vectorised step, with its automatic reset and without masks."""

    def make(num_envs: int) -> tuple[Callable[[], object], int]:
        import jax
        from jaxmarl.environments.smax import SMAX, map_name_to_scenario

        env = SMAX(scenario=map_name_to_scenario(scenario))
        choices = {agent: env.action_space(agent).n for agent in env.agents}
        keys = jax.random.split(jax.random.PRNGKey(0), num_envs)
        step_all = jax.jit(jax.vmap(env.step))
        sets = [
            {
                agent: jax.random.randint(jax.random.PRNGKey(97 * number + place), (num_envs,), 0, choices[agent])
                for place, agent in enumerate(env.agents)
            }
            for number in range(DRAWS)
        ]
        kept: list[Any] = [jax.vmap(env.reset)(keys)[1]]

        def step(actions: Any) -> None:
            result = step_all(keys, kept[0], actions)
            kept[0] = result[1]
            jax.block_until_ready(result)

        return in_turn(step, sets), num_envs

    return make


CASES = tuple(
    Case(f"skirmish, {scenario}", "skirmish", num_envs, {"scenario": scenario}, {"jaxmarl": jaxmarl(scenario)})
    for scenario, num_envs in (("2s3z", 1024), ("5m_vs_6m", 1024), ("27m_vs_30m", 128))
)
