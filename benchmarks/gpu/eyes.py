"""Worlds with eyes, stepped with random actions, beside the reference's brute force on the same plans and rays.

A thousand homes are shared among all envs, which is more scenery than caches are kind to; they are drawn and lit once,
on the host, for all worlds. ``limit_share`` is the part that is reached of what the card's arithmetic allows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from warpworld import Environment, World
from warpworld.environment import get_environment

from ..brute_force import BruteDeathmatch, BruteExplorer, BrutePointGoal
from .cases import STEPS_PER_DRAW, Case, Steps, build_world
from .clock import measure
from .columns import add_row
from .limit import basis, card_of, limit_of, lines_of
from .memory import Memory
from .needs import of_view
from .part import Context

HOMES = {"num_plans": 1000}
# With the rays of the reference: 256 and 512.
EXPLORER = Case("explorer", HOMES, num_envs=65536)
POINT_GOAL = Case("point_goal", HOMES, num_envs=65536)
DEATHMATCH = Case("deathmatch", {**HOMES, "players": 2, "rivals": 2}, num_envs=16384)
CASES = (EXPLORER, POINT_GOAL, DEATHMATCH)
BRUTE: Mapping[str, type[Environment]] = {
    "explorer": BruteExplorer,
    "point_goal": BrutePointGoal,
    "deathmatch": BruteDeathmatch,
}


def measure_eyes(context: Context) -> None:
    """Simulation alone, ours and by brute force."""
    cases = [case.smaller(4, 4, num_plans=2) if context.quick else case for case in CASES]
    _draw_homes(context, cases[0])
    context.report(limit=basis(card_of(context.device)))
    said = []
    for case in cases:
        ours = _simulate(context, case, "simulation")
        said.append(f"{case.name} {ours / 1e6:.3g} M")
        if case.name in BRUTE:
            ratio = ours / _simulate(context, case, "brute force")
            context.report(**{f"{case.name}_beside_brute_force": ratio})
            said[-1] += f" ({ratio:.3g} x brute force)"
    context.report(headline=", ".join(said) + " agent steps/s")


def _draw_homes(context: Context, case: Case) -> None:
    """Draw and light the homes, which are kept for the worlds of all cases."""
    began = time.perf_counter()
    params = get_environment(case.name)(**case.params).params
    context.report(num_plans=params.num_plans, plans_seconds=time.perf_counter() - began)


def _simulate(context: Context, case: Case, column: str) -> float:
    """Measure one world, write its row down, and give its agent steps a second."""
    memory = Memory(context.device)
    if column == "simulation":
        world = build_world(case, context.device)
    else:
        world = World(BRUTE[case.name](**case.params), case.num_envs, device=context.device)
        world.reset()
    steps = Steps(world)
    timing = measure(steps, context.device, *((0.002, 2) if context.quick else (0.25, 7)))
    env_steps = case.num_envs * STEPS_PER_DRAW
    speed = env_steps * world.num_agents / timing.median
    limit = limit_of(world.environment, card_of(context.device)) if column == "simulation" else None
    add_row(
        context,
        case,
        column,
        timing,
        env_steps,
        world.num_agents,
        needs=of_view(world) if column == "simulation" else None,
        memory_bytes=memory.used(),
        graphs=steps.replayed,
        rays=world.environment.params.res,
        num_plans=world.environment.params.num_plans,
        lines=lines_of(world.environment),
        limit_share=speed / limit if limit else None,
    )
    return speed
