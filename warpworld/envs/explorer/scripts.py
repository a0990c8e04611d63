"""Reference for exploring homes, which measures its distance to walls in three directions and sees nothing."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from warpworld.environment import Group
from warpworld.eyes.plans import PlanSet

if TYPE_CHECKING:
    from warpworld.envs.explorer.explorer import Explorer

CHOICES, FORWARD, LEFT, RIGHT = 7, 3, 5, 6
SIDES = (0.0, 40.0, -40.0)  # degrees: ahead, to the left, to the right
ROOM = 1.0  # metres ahead below which it turns
TURNS = 20.0  # degrees a second above which a turn has begun
NEVER = -50.0  # the logit of what is not chosen
FAR = 1e6  # metres, where there is no wall


def wander(params: Explorer.Params, arrays: Mapping[str, Tensor], group: Group) -> Tensor:
    """Forward while there is room, else a turn to the side with more of it; a turn that has begun is finished.

    Args:
        params: of the world.
        arrays: its ``positions``, ``angles``, ``angvelocity`` and ``plan``.
        group: of the agent that it plays.

    Returns:
        (num_envs, 1, 7) float32, logits of the seven actions.
    """
    ahead, left, right = _distances(params.plan_set, arrays).unbind(-1)
    turning = arrays["angvelocity"][:, 0]
    turn = torch.where(left > right, LEFT, RIGHT)
    turn = torch.where(turning > TURNS, LEFT, torch.where(turning < -TURNS, RIGHT, turn))
    chosen = torch.where(ahead > ROOM, FORWARD, turn)
    is_chosen = chosen[:, None] == torch.arange(CHOICES, device=chosen.device)
    return torch.where(is_chosen, 0.0, NEVER)[:, None]


def _distances(plans: PlanSet, arrays: Mapping[str, Tensor]) -> Tensor:
    """(num_envs, 3) metres to the nearest wall at each of ``SIDES``."""
    place = arrays["positions"][:, 0]
    x0, y0, x1, y1 = _walls(plans, str(place.device))[arrays["plan"].long()][:, None].unbind(-1)
    angle = torch.deg2rad(arrays["angles"][:, :1] + torch.tensor(SIDES, device=place.device))[..., None]
    dx, dy = angle.cos(), angle.sin()
    x, y = (each[:, None, None] for each in place.unbind(-1))
    wall_x, wall_y = x1 - x0, y1 - y0
    across = dx * wall_y - dy * wall_x
    ahead = ((x0 - x) * wall_y - (y0 - y) * wall_x) / across
    along = ((x0 - x) * dy - (y0 - y) * dx) / across
    hits = (ahead > 0) & (along >= 0) & (along <= 1)
    return torch.where(hits, ahead, math.inf).amin(-1)


@functools.lru_cache(maxsize=2)
def _walls(plans: PlanSet, device: str) -> Tensor:
    """(plans, most walls, 4) x0 y0 x1 y1 in metres; padding is far away."""
    found = torch.full((len(plans), plans.most_walls, 4), FAR)
    for number, plan in enumerate(plans.plans):
        found[number, : len(plan.walls)] = torch.from_numpy(plan.walls.astype(np.float32)).reshape(-1, 4)
    return found.to(device)
