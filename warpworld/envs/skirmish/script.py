"""The opponent in Skirmish that does not learn."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from warpworld.environment import Group

ATTACK = 5  # the first of the attacks; before it are the four ways to walk, and to stop
NEVER = -50.0  # the logit of what is not chosen


def attack(arrays: Mapping[str, Tensor], group: Group) -> Tensor:
    """Shoots at whom it shot at before, or else at the nearest opponent in reach; walks while there is none.

    It walks straight to one of the opponents that it sees, which it draws anew in every step, and to its goal while it
    sees none. Both sides may be played.

    Args:
        arrays: of the world.
        group: of the units that it plays.

    Returns:
        (num_envs, group size, choices) float32, the logarithms of probabilities.
    """
    own, dx, dy, lives = _offsets(arrays, group)
    reach, sight = arrays["ranges"][:, arrays["kind"][:, own].long()]
    distance = torch.sqrt(dx * dx + dy * dy)
    is_seen = lives & (distance < sight[..., None])
    in_reach = is_seen & (distance < reach[..., None])
    target = _target(in_reach, distance, arrays["last_action"][:, own].long() - ATTACK)
    shots = _one_hot(target, distance)
    chases = _ways(dx, dy) * is_seen[..., None]
    goal = _ways(arrays["goal_x"][:, own] - arrays["x"][:, own], arrays["goal_y"][:, own] - arrays["y"][:, own])
    seen = is_seen.sum(-1, keepdim=True)
    walks = torch.where(seen > 0, chases.sum(-2) / seen.clamp(min=1), goal)
    shoots = in_reach.any(-1, keepdim=True)
    stops = torch.zeros_like(walks[..., :1])
    chances = torch.cat([walks * ~shoots, stops, shots * shoots], -1)
    return torch.where(chances > 0.0, chances.log(), NEVER)


def _offsets(arrays: Mapping[str, Tensor], group: Group) -> tuple[slice, Tensor, Tensor, Tensor]:
    """The units of a group, and cells from each to each opponent, in the order of attacks, and which of these live."""
    first = group.slice.start == 0
    other = slice(group.slice.stop, None) if first else slice(0, group.slice.start)
    names = ("x", "y", "health")
    x, y, health = (arrays[name][:, other] if first else arrays[name][:, other].flip(1) for name in names)
    dx = x[:, None] - arrays["x"][:, group.slice, None]
    dy = y[:, None] - arrays["y"][:, group.slice, None]
    return group.slice, dx, dy, (health > 0.0)[:, None].expand(dx.shape)


def _target(in_reach: Tensor, distance: Tensor, last: Tensor) -> Tensor:
    """The last target where it is still in reach, else the nearest that is."""
    nearest = torch.where(in_reach, distance, torch.inf).argmin(-1)
    keeps = (last >= 0) & in_reach.gather(-1, last.clamp(min=0)[..., None]).squeeze(-1)
    return torch.where(keeps, last, nearest)


def _ways(dx: Tensor, dy: Tensor) -> Tensor:
    """(..., 4): one for the way that leads there the most: north, east, south or west."""
    along = torch.stack([dy, dx, -dy, -dx], -1)
    return _one_hot(along.argmax(-1), along)


def _one_hot(chosen: Tensor, among: Tensor) -> Tensor:
    """Indicator of the shape of ``among``: 1 at the index along the last dimension, else 0. Torch's reads back."""
    return torch.zeros_like(among).scatter(-1, chosen[..., None], 1.0)
