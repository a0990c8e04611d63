"""References for walking to a goal, which know where they are and see nothing: straight on, and the shortest way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from warpworld.environment import Group
from warpworld.eyes.plans import NO_WAY, WAY_CELL, WAY_UNIT

if TYPE_CHECKING:
    from warpworld.envs.waypoint.waypoint import GoalParams

PUSHES = ((0.0, 0.0), (0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 0.0), (0.0, 0.0))  # of the seven actions
NEVER = -50.0  # the logit of what is not chosen
NEARNESS = 3.0  # metres a second that are wanted for each metre to go
FASTEST = 1.6  # metres a second that are wanted, so that corners can be taken
STRAIGHT = 0.4  # metres from the goal within which the guide walks straight on
AROUND = 2  # cells to each side among which the guide looks for its own, and from there for the next
CORNER = 0.32  # metres from an agent to the middle of a cell that is its own, at most


def slide(params: GoalParams, arrays: Mapping[str, Tensor], group: Group) -> Tensor:
    """Straight to the goal without turning, along the walls that stand between.

    Args:
        params: of the world.
        arrays: its ``positions``, ``velocity``, ``angles`` and ``goal``.
        group: of the agent that it plays.

    Returns:
        (num_envs, 1, 7) float32, logits of the seven actions.
    """
    return _towards(params, arrays, arrays["goal"][:, 0])


def guide(params: GoalParams, arrays: Mapping[str, Tensor], group: Group) -> Tensor:
    """Along the field of shortest ways, without turning.

    Args:
        params: of the world.
        arrays: as for ``slide``, and ``plan``, ``plan_ways``, ``way_fields`` and ``goal_place``.
        group: of the agent that it plays.

    Returns:
        (num_envs, 1, 7) float32, logits of the seven actions.
    """
    place, goal = arrays["positions"][:, 0], arrays["goal"][:, 0]
    reach = torch.arange(-AROUND, AROUND + 1, device=place.device)
    # the agent's own cell: that from which the way is shortest
    around = (place / WAY_CELL).long()[:, None] + torch.cartesian_prod(reach, reach)
    off = (_middles(around) - place[:, None]).norm(dim=-1)
    metres = torch.where(off < CORNER, _metres(arrays, around) + off, torch.inf)
    own = around[torch.arange(len(place), device=place.device), metres.argmin(1)]
    # the next one beside it
    beside = own[:, None] + torch.cartesian_prod(reach, reach)[_beside(place.device)]
    following = beside[torch.arange(len(place), device=place.device), _metres(arrays, beside).argmin(1)]
    near = ((goal - place).norm(dim=-1) < STRAIGHT) | torch.isinf(metres.amin(1))
    return _towards(params, arrays, torch.where(near[:, None], goal, _middles(following)))


def _beside(device: torch.device) -> Tensor:
    """Flags of the cells around one: whether each is that cell or touches it."""
    reach = torch.arange(-AROUND, AROUND + 1, device=device)
    return torch.cartesian_prod(reach, reach).abs().amax(1) < 2


def _middles(cells: Tensor) -> Tensor:
    """Metres, of cells (..., 2) given as column and row."""
    return WAY_CELL * (cells + 0.5)


def _metres(arrays: Mapping[str, Tensor], cells: Tensor) -> Tensor:
    """(num_envs, cells) metres from cells to each env's goal; infinite where no way leads."""
    first, columns, rows, size = arrays["plan_ways"][arrays["plan"].long()].long().unbind(-1)
    column, row = cells.unbind(-1)
    inside = (column >= 0) & (row >= 0) & (column < columns[:, None]) & (row < rows[:, None])
    at = (first + arrays["goal_place"].long() * size)[:, None] + row * columns[:, None] + column
    field = arrays["way_fields"].view(torch.int16)[torch.where(inside, at, 0)].int() & NO_WAY
    return torch.where(inside & (field != NO_WAY), WAY_UNIT * field, torch.inf)


def _towards(params: GoalParams, arrays: Mapping[str, Tensor], target: Tensor) -> Tensor:
    """Logits of the push that brings the velocity nearest to one towards a place (num_envs, 2)."""
    wanted = NEARNESS * (target - arrays["positions"][:, 0])
    speed = wanted.norm(dim=-1, keepdim=True)
    lacking = wanted * (FASTEST / speed.clamp(min=FASTEST)) - (1.0 - params.decay) * arrays["velocity"][:, 0]
    angle = torch.deg2rad(arrays["angles"][:, 0])
    ahead = torch.stack([angle.cos(), angle.sin()], -1)
    left = torch.stack([-ahead[:, 1], ahead[:, 0]], -1)
    pushes = torch.tensor(PUSHES, device=target.device) * (params.accel / params.fps)
    pushed = pushes[:, :1] * ahead[:, None] + pushes[:, 1:] * left[:, None]  # (num_envs, 7, 2)
    missing = (lacking[:, None] - pushed).norm(dim=-1)
    is_chosen = missing.argmin(1)[:, None] == torch.arange(len(PUSHES), device=target.device)
    return torch.where(is_chosen, 0.0, NEVER)[:, None]
