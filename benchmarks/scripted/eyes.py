"""A rule for worlds with eyes: walk to a place."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from warpworld.environment import Group

from .logits import surely

CHOICES, FORWARD, LEFT, RIGHT = 7, 3, 5, 6
TURNS_ALREADY = 0.3  # seconds for which a turn is expected to continue
AIMED = 15.0  # degrees off a place within which it walks


def straight_to_the_goal(arrays: Any, group: Group) -> Tensor:
    """Waypoint and point_goal: turn to the goal and walk, whatever stands between."""
    dx, dy = (arrays["goal"] - arrays["positions"])[:, 0].unbind(-1)
    angle = arrays["angles"][:, 0] + TURNS_ALREADY * arrays["angvelocity"][:, 0]
    off = torch.remainder(torch.rad2deg(torch.atan2(dy, dx)) - angle + 180.0, 360.0) - 180.0
    chosen = torch.where(off.abs() < AIMED, FORWARD, torch.where(off > 0, LEFT, RIGHT))
    return surely(chosen[:, None], CHOICES)
