"""Floor plans: homes drawn from a seed, toys, files, and many plans packed for kernels."""

from warpworld.eyes.plans import (
    MAX_WALLS,
    Plan,
    PlanSet,
    box,
    column,
    find_ways,
    home,
    homes,
    load_cubicasa,
    load_plan,
    write_plan,
)

__all__ = [
    "MAX_WALLS",
    "Plan",
    "PlanSet",
    "box",
    "column",
    "find_ways",
    "home",
    "homes",
    "load_cubicasa",
    "load_plan",
    "write_plan",
]
