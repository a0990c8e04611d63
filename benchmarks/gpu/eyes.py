"""Worlds with eyes, stepped with random actions, beside the reference's brute force on the same plans and rays.

``limit_share`` is the part that is reached of what the card's arithmetic allows: with L walls in a plan and R rays, an
agent's view takes about 40 L + R (2 L / 8 + 5 * 8 + 40) operations of a lane, since an eighth of the lines are in view
and some 8 cross a ray.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from warpworld import Environment, World

from ..brute_force import BruteDeathmatch, BruteExplorer
from .cases import STEPS_PER_DRAW, Case, Steps, build_world
from .clock import measure
from .columns import add_row
from .memory import Memory
from .part import Context

# With the rays of the reference: 256 and 512.
EXPLORER = Case("explorer", {}, num_envs=65536)
POINT_GOAL = Case("point_goal", {}, num_envs=65536)
DEATHMATCH = Case("deathmatch", {"players": 2, "rivals": 2}, num_envs=16384)
CASES = (EXPLORER, POINT_GOAL, DEATHMATCH)
BRUTE: Mapping[str, type[Environment]] = {"explorer": BruteExplorer, "deathmatch": BruteDeathmatch}
# Lane operations a second: half of the 67 TFLOP/s in single precision, which count a multiply-add twice.
LANE_OPERATIONS = {"NVIDIA H100": 33.5e12, "NVIDIA H200": 33.5e12}


def measure_eyes(context: Context) -> None:
    """Simulation alone, ours and by brute force."""
    said = []
    for full in CASES:
        case = full.smaller(4, 4, num_plans=2) if context.quick else full
        ours = _simulate(context, case, case.name, "simulation")
        said.append(f"{case.name} {ours / 1e6:.3g} M")
        if case.name in BRUTE:
            ratio = ours / _simulate(context, case, case.name, "brute force")
            context.report(**{f"{case.name}_beside_brute_force": ratio})
            said[-1] += f" ({ratio:.3g} x brute force)"
    context.report(headline=", ".join(said) + " agent steps/s")


def _simulate(context: Context, case: Case, name: str, column: str) -> float:
    """Measure one world, write its row down, and give its agent steps a second."""
    memory = Memory(context.device)
    if column == "simulation":
        world = build_world(case, context.device)
    else:
        world = World(BRUTE[name](**case.params), case.num_envs, device=context.device)
        world.reset()
    steps = Steps(world)
    timing = measure(steps, context.device, *((0.002, 2) if context.quick else (0.25, 7)))
    env_steps = case.num_envs * STEPS_PER_DRAW
    speed = env_steps * world.num_agents / timing.median
    limit = _limit(world)
    more = {} if limit is None or column != "simulation" else {"limit_share": speed / limit}
    add_row(
        context,
        case,
        column,
        timing,
        env_steps,
        world.num_agents,
        memory_bytes=memory.used(),
        graphs=steps.replayed,
        **more,
    )
    return speed


def _limit(world: World) -> float | None:
    """Agent steps a second that the card's arithmetic allows; None for a card whose peak is not known here."""
    if world.device.type != "cuda":
        return None
    card = torch.cuda.get_device_name(world.device)
    peak = next((speed for name, speed in LANE_OPERATIONS.items() if card.startswith(name)), None)
    return None if peak is None else peak / operations(world)


def operations(world: World) -> float:
    """Lane operations of one agent's view, of the mean plan."""
    params = world.environment.params
    walls, rays = len(world["plan_walls"]) / params.num_plans, params.res
    return 40 * walls + rays * (2 * walls / 8 + 5 * 8 + 40)
