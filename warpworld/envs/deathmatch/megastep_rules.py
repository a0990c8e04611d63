"""Deathmatch by megastep's rules, which are slow to learn, and the faults that can be fixed one by one.

Source: megastep's "deathmatch" (Andy L. Jones, 2020). One action of seven at a time; every agent fires in every step at
the agents that the two middle pixels show, at any distance; a hit takes 0.05 of the health and a step 0.001; the reward
is the number of opponents that are hit, and victims pay nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpworld.environment import Array
from warpworld.errors import DeclarationError, suggest
from warpworld.eyes.plans import PlanSet

MENDS = {
    "bounds": "x is compared with the plan's width and y with its height, beyond which health drains",
    "reward": "a kill brings as much as kill_reward times the 20 hits of a life, and the victim pays it",
    "aim": "a shot hits the nearest opponent in fire_cone within fire_range",
    "credit": "a dead agent is moved in the same step, so that nothing of the next life counts for the old one",
    "spawns": "agents start anywhere in a random plan, not in a few poses that an env keeps forever",
}


def mended(given: str) -> dict[str, bool]:
    """Whether each of ``MENDS`` is applied, by name.

    Args:
        given: names from ``MENDS`` between commas; may be empty.

    Raises:
        DeclarationError: there is no such name.
    """
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in MENDS:
            expected = f"expected names separated by commas, of {', '.join(MENDS)}"
            raise DeclarationError(f"megastep_mends={given!r}: {expected}.{suggest(name, MENDS)}")
    return {name: name in names for name in MENDS}


def megastep_arrays(plans: PlanSet, agents: int) -> Sequence[Array]:
    """The arrays that these rules need beside the game's own."""
    extent = np.array([[plan.grid.columns, plan.grid.rows] for plan in plans.plans]) * plans.plans[0].resolution
    return [
        Array(
            "plan_extent",
            "float32",
            extent.shape,
            per="world",
            initial=extent,
            read_only=True,
            doc="width and height of each plan, with a margin on both sides, metres",
        ),
        _kept("spawn_positions", "float32", (agents, 2), "metres, of an agent's spawn poses"),
        _kept("spawn_angles", "float32", (agents,), "degrees, of an agent's spawn poses"),
        Array("spawn_plan", "int32", per="env", initial=-1, on_reset="keep", doc="the plan that spawn poses are in"),
    ]


def _kept(name: str, dtype: str, shape: tuple[int, ...], doc: str) -> Array:
    """Numbers of each agent that no end of an episode touches."""
    return Array(name, dtype, shape, initial=0, on_reset="keep", doc=doc)
