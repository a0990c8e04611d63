"""Floor plans: homes drawn from a seed, toys, files, and many plans packed for kernels."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.eyes.plans.constants import MAX_WALLS as MAX_WALLS
    from warpworld.eyes.plans.constants import RADIUS as RADIUS
    from warpworld.eyes.plans.cubicasa import load_cubicasa as load_cubicasa
    from warpworld.eyes.plans.from_above import LINE_WIDTH as LINE_WIDTH
    from warpworld.eyes.plans.from_above import draw_plan as draw_plan
    from warpworld.eyes.plans.generator import home as home
    from warpworld.eyes.plans.generator import homes as homes
    from warpworld.eyes.plans.json_files import load_plan as load_plan
    from warpworld.eyes.plans.json_files import write_plan as write_plan
    from warpworld.eyes.plans.plan import Plan as Plan
    from warpworld.eyes.plans.plan_set import PlanSet as PlanSet
    from warpworld.eyes.plans.sheet import MOST as MOST
    from warpworld.eyes.plans.sheet import write_sheet as write_sheet
    from warpworld.eyes.plans.sights import find_sights as find_sights
    from warpworld.eyes.plans.sights import seen_words as seen_words
    from warpworld.eyes.plans.sources import load_any as load_any
    from warpworld.eyes.plans.sources import load_plans as load_plans
    from warpworld.eyes.plans.sources import plan_files as plan_files
    from warpworld.eyes.plans.toys import box as box
    from warpworld.eyes.plans.toys import column as column
    from warpworld.eyes.plans.ways import NO_WAY as NO_WAY
    from warpworld.eyes.plans.ways import WAY_CELL as WAY_CELL
    from warpworld.eyes.plans.ways import WAY_UNIT as WAY_UNIT
    from warpworld.eyes.plans.ways import find_ways as find_ways
    from warpworld.eyes.plans.ways import way_arrays as way_arrays
else:
    __getattr__, __dir__ = lazy_names(__name__)
