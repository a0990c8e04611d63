"""How many views a second a card's arithmetic allows: as if each of its lanes did something needed in every cycle."""

from __future__ import annotations

import torch

from warpworld import Environment
from warpworld.eyes.indoor import FACETS

# Lane operations a second, by the name that CUDA gives the card: half of NVIDIA's FLOP/s in single precision, which
# count a multiply-add twice. Cards of other names, parts of a card among them, have other clocks or fewer lanes.
LANE_OPERATIONS = {
    "NVIDIA H100 80GB HBM3": 33.5e12,  # SXM
    "NVIDIA H100 NVL": 30.0e12,
    "NVIDIA H100 PCIe": 25.6e12,
    "NVIDIA H200": 33.5e12,  # SXM
    "NVIDIA H200 NVL": 30.0e12,
}
SET_UP = 40  # operations that bring a line into a camera's frame
IN_VIEW = 40 / 307 / 70  # share of the lines that a camera keeps, for each degree of its field of view
LINES_OVER_RAY = 8  # in whose range of rays a ray is


def operations(lines: float, rays: int, fov: float) -> float:
    """Lane operations that one agent's view takes at least: ``40 L + R (2 L_f + 5 L_h + 40)``.

    Each of the L lines is set up once; each of the R rays asks the L_f lines that are in view whether it is in their
    range, has the depth of the L_h whose range it is in, and is shaded. Source: a count by hand for homes of 307 lines
    and 70 degrees, of which some 40 lines are in view and 8 over a ray. Lines in view grow with the field of view. What
    else a step takes is not in it: movement, rules, and reading and writing memory.

    Args:
        lines: walls, and the facets of all agents.
        rays: of the camera.
        fov: degrees.
    """
    in_view = lines * IN_VIEW * fov
    return SET_UP * lines + rays * (2 * in_view + 5 * LINES_OVER_RAY + 40)


def lines_of(environment: Environment) -> float:
    """Walls of the mean plan, and the facets of all agents of an env."""
    plans = environment.params.plan_set
    agents = sum(group.size for group in environment.groups())
    return len(plans["plan_walls"]) / plans.num_plans + FACETS * agents


def limit_of(environment: Environment, card: str | None) -> float | None:
    """Agent steps a second that a card allows; None for one whose arithmetic is not known here."""
    if card not in LANE_OPERATIONS:
        return None
    params = environment.params
    return LANE_OPERATIONS[card] / operations(lines_of(environment), params.res, params.fov)


def card_of(device: str) -> str | None:
    """The name that CUDA gives the device; None for a CPU."""
    return torch.cuda.get_device_name() if device == "cuda" else None


def basis(card: str | None) -> str:
    """What shares of the limit refer to, or why there are none."""
    if card is None:
        return "no share of the limit: that is of GPUs"
    if card not in LANE_OPERATIONS:
        return f"no share of the limit: that of '{card}' is not known, only of {', '.join(LANE_OPERATIONS)}"
    return f"the limit is that of {card}: {LANE_OPERATIONS[card] / 1e12:.1f} T lane operations a second"
