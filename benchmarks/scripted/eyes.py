"""Rules for worlds with eyes: walk to a place, or along where there is room, with three rays against walls."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from warpworld.environment import Group

from .logits import surely

CHOICES, FORWARD, LEFT, RIGHT = 7, 3, 5, 6
SIDES = (0.0, 40.0, -40.0)  # degrees: ahead, to the left, to the right
ROOM = 1.0  # metres ahead below which it turns
TURNS_ALREADY = 0.3  # seconds for which a turn is expected to continue
AIMED = 15.0  # degrees off a place within which it walks


class Looking:
    """Distances to walls, by the plans of a world that does not change."""

    def __init__(self) -> None:
        self._walls: Tensor | None = None

    def walls(self, arrays: Any) -> Tensor:
        """(envs, most walls, 4): those of each env's plan; padding is far away."""
        if self._walls is None:
            first, walls = arrays["plan_first_wall"].long(), arrays["plan_walls"]
            most = int(first.diff().max())
            self._walls = walls.new_full((len(first) - 1, most, 4), 1e6)
            for plan, (start, end) in enumerate(zip(first[:-1].tolist(), first[1:].tolist(), strict=True)):
                self._walls[plan, : end - start] = walls[start:end]
        return self._walls[arrays["plan"].long()]

    def distances(self, arrays: Any) -> Tensor:
        """(envs, 3) metres to the nearest wall at each of ``SIDES``."""
        x0, y0, x1, y1 = self.walls(arrays)[:, None].unbind(-1)
        angle = torch.deg2rad(arrays["angles"][:, :1] + torch.tensor(SIDES, device=x0.device))[..., None]
        dx, dy = angle.cos(), angle.sin()
        x, y = (place[:, None, None] for place in arrays["positions"][:, 0].unbind(-1))
        wall_x, wall_y = x1 - x0, y1 - y0
        across = dx * wall_y - dy * wall_x
        ahead = ((x0 - x) * wall_y - (y0 - y) * wall_x) / across
        along = ((x0 - x) * dy - (y0 - y) * dx) / across
        hits = (ahead > 0) & (along >= 0) & (along <= 1)
        return torch.where(hits, ahead, math.inf).amin(-1)

    def wander(self, arrays: Any, group: Group) -> Tensor:
        """Explorer: forward while there is room, else a turn to the side with more of it."""
        ahead, left, right = self.distances(arrays).unbind(-1)
        turn = torch.where(left > right, LEFT, RIGHT)
        turn = torch.where(arrays["angvelocity"][:, 0] > 20.0, LEFT, turn)  # one that has begun is finished
        turn = torch.where(arrays["angvelocity"][:, 0] < -20.0, RIGHT, turn)
        return surely(torch.where(ahead > ROOM, FORWARD, turn)[:, None], CHOICES)


def straight_to_the_goal(arrays: Any, group: Group) -> Tensor:
    """Waypoint and point_goal: turn to the goal and walk, whatever stands between."""
    dx, dy = (arrays["goal"] - arrays["positions"])[:, 0].unbind(-1)
    angle = arrays["angles"][:, 0] + TURNS_ALREADY * arrays["angvelocity"][:, 0]
    off = torch.remainder(torch.rad2deg(torch.atan2(dy, dx)) - angle + 180.0, 360.0) - 180.0
    chosen = torch.where(off.abs() < AIMED, FORWARD, torch.where(off > 0, LEFT, RIGHT))
    return surely(chosen[:, None], CHOICES)
