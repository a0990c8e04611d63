"""Overcooked beside JaxMARL's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .case import Case, Peer
from .stepping import DRAWS, in_turn


def jaxmarl(layout: str) -> Peer:
    """JaxMARL under one jitted, vectorised step, with its automatic reset."""

    def make(num_envs: int) -> tuple[Callable[[], object], int]:
        import jax
        from jaxmarl.environments.overcooked import Overcooked, overcooked_layouts

        env = Overcooked(layout=overcooked_layouts[layout])
        keys = jax.random.split(jax.random.PRNGKey(0), num_envs)
        step_all = jax.jit(jax.vmap(env.step))
        sets = [
            {
                agent: jax.random.randint(jax.random.PRNGKey(2 * number + place), (num_envs,), 0, 6)
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
    Case(f"overcooked, {layout}", "overcooked", 1024, {"layout": layout}, {"jaxmarl": jaxmarl(layout)})
    for layout in ("cramped_room", "asymm_advantages", "counter_circuit")
)
