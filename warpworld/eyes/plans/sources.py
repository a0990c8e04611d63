"""Plans that a user has: a file, or a folder of them."""

from __future__ import annotations

from pathlib import Path

from warpworld.errors import PlanError
from warpworld.eyes.plans.cubicasa import load_cubicasa
from warpworld.eyes.plans.json_files import load_plan
from warpworld.eyes.plans.plan import Plan
from warpworld.files import reason

DRAWING = "model.svg"  # what a folder of CubiCasa5k holds


def plan_files(path: str | Path) -> list[Path]:
    """The files of plans at a path.

    Args:
        path: a JSON plan; a drawing of CubiCasa5k; or a folder: that of a drawing, or one with JSON plans in it, or
            with folders that hold drawings, however deep.

    Returns:
        At least one file, in the order of their names.

    Raises:
        PlanError: there is nothing of that name, or no plan in the folder.
    """
    root = Path(path)
    # a file
    if not root.is_dir():
        if not root.exists():
            raise PlanError(f"'{root}' is neither a file nor a folder; expected plans as JSON or of CubiCasa5k")
        return [root]
    # the folder of a drawing
    if (root / DRAWING).is_file():
        return [root / DRAWING]
    # a folder with plans in it
    try:
        found = sorted([*root.glob("*.json"), *root.rglob(DRAWING)])
    except OSError as error:
        raise PlanError(f"'{root}' cannot be read: {reason(error)}") from error
    if not found:
        raise PlanError(f"folder '{root}' holds no plans: expected files NAME.json, or folders with a {DRAWING}")
    return found


def load_any(path: Path) -> Plan:
    """Read one file of ``plan_files``.

    Raises:
        PlanError: it cannot be read, or is an impossible plan.
    """
    return load_cubicasa(path) if path.suffix == ".svg" else load_plan(path)


def load_plans(path: str | Path) -> list[Plan]:
    """Read the plans at a path: see ``plan_files``.

    Raises:
        PlanError: there are none, or one cannot be read or is impossible.
    """
    return [load_any(file) for file in plan_files(path)]
