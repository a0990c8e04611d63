"""Hide and seek stepped with random actions: few agents in a room, ten in drawn rooms, and ten with a lidar."""

from __future__ import annotations

from .cases import STEPS_PER_DRAW, Case, Steps, build_world
from .clock import measure
from .columns import add_row
from .memory import Memory
from .needs import of_world
from .part import Context

DRAWN_ROOMS = {"hiders": 5, "seekers": 5, "boxes": 3, "long_boxes": 2, "ramps": 2, "rooms": 4}
CASES = {
    "1 box, 1 door": Case("hide_and_seek", {}, num_envs=65536),
    "4 rooms, 5 boxes, 2 ramps": Case("hide_and_seek", DRAWN_ROOMS, num_envs=16384),
    "4 rooms, 30 rays": Case("hide_and_seek", {**DRAWN_ROOMS, "lidar_rays": 30}, num_envs=16384),
}


def measure_hide_and_seek(context: Context) -> None:
    """Simulation alone."""
    said = []
    for label, case in CASES.items():
        speed = _simulate(context, case.smaller(4, 4) if context.quick else case, label)
        said.append(f"{label} {speed / 1e6:.3g} M")
    context.report(headline=", ".join(said) + " env steps/s")


def _simulate(context: Context, case: Case, column: str) -> float:
    """Measure one world, write its row down, and give its env steps a second."""
    memory = Memory(context.device)
    world = build_world(case, context.device)
    steps = Steps(world)
    timing = measure(steps, context.device, *((0.002, 2) if context.quick else (0.25, 7)))
    env_steps = case.num_envs * STEPS_PER_DRAW
    add_row(
        context,
        case,
        column,
        timing,
        env_steps,
        world.num_agents,
        needs=of_world(world),
        memory_bytes=memory.used(),
        graphs=steps.replayed,
    )
    return env_steps / timing.median
