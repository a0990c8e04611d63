"""Floor plans: homes drawn from a seed, toys, files, and many plans packed for kernels."""

from warpworld.plans.constants import MAX_WALLS
from warpworld.plans.cubicasa import load_cubicasa
from warpworld.plans.files import load_plan, write_plan
from warpworld.plans.generator import home, homes
from warpworld.plans.plan import Plan
from warpworld.plans.plan_set import PlanSet
from warpworld.plans.toys import box, column

__all__ = ["MAX_WALLS", "Plan", "PlanSet", "box", "column", "home", "homes", "load_cubicasa", "load_plan", "write_plan"]
