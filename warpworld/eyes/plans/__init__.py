"""Floor plans: homes drawn from a seed, toys, files, and many plans packed for kernels."""

from warpworld.eyes.plans.constants import MAX_WALLS
from warpworld.eyes.plans.cubicasa import load_cubicasa
from warpworld.eyes.plans.generator import home, homes
from warpworld.eyes.plans.plan import Plan
from warpworld.eyes.plans.plan_files import load_plan, write_plan
from warpworld.eyes.plans.plan_set import PlanSet
from warpworld.eyes.plans.toys import box, column

__all__ = ["MAX_WALLS", "Plan", "PlanSet", "box", "column", "home", "homes", "load_cubicasa", "load_plan", "write_plan"]
