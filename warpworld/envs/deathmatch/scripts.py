"""Opponents in Deathmatch that do not learn: a turret, and a walker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from warpworld.environment import Group
from warpworld.eyes.plans import RADIUS

if TYPE_CHECKING:
    from warpworld.envs.deathmatch.deathmatch import Deathmatch

MOVES, TURNS, FIRES = 5, 5, 2  # choices of the heads
SLIGHT = 0.25  # of an agent's strength, what a slight turn takes
SLIGHTLY_LEFT = 3
NEVER = -50.0  # the logit of what is not chosen
BEYOND = -4.0  # how much worse it is to turn too far than not far enough
BRAKING = 16  # steps that a turn is expected to continue


def turret(params: Deathmatch.Params, arrays: Mapping[str, Tensor], group: Group) -> Tensor:
    """Stands still, turns to the nearest opponent that it sees, and fires when a shot would hit.

    It is heavy and turns slightly only, so that it would come to rest closest to its aim if it braked from then on:
    as fast as that goes without overshooting. It sees as far to the sides as a camera does; while no agent is there it
    turns to the left.

    Args:
        params: of the world.
        arrays: its ``positions``, ``angles``, ``angvelocity`` and ``in_sight``.
        group: of the agents that it plays.

    Returns:
        (num_envs, group size, 12) float32, logits of move, turn and fire.
    """
    distance, off = _nearest(params.fov, arrays, group)
    spin = arrays["angvelocity"][:, group.slice]
    kept, pushed = (1.0 - params.decay) * spin, SLIGHT * params.ang_accel / params.fps
    after = torch.stack([kept, kept + pushed, kept - pushed], -1)  # not at all, to the left, to the right
    left = off[..., None] - after / params.fps  # degrees still to turn after this step
    rest = (left - _braked(after, params)) * off.sign()[..., None]  # where it would end: below 0 beyond its aim
    best = torch.where(rest < 0.0, BEYOND * rest, rest).argmin(-1)
    seen = torch.isfinite(distance)
    turn = torch.where(seen, torch.where(best > 0, best + SLIGHTLY_LEFT - 1, 0), SLIGHTLY_LEFT)
    aim = torch.deg2rad(left.gather(-1, best[..., None]).squeeze(-1).abs())
    cone = torch.deg2rad(torch.full_like(aim, params.fire_cone))
    beside = distance * torch.sin(aim - cone)  # metres from the edge of the cone
    fires = seen & (distance <= params.fire_range) & (torch.cos(aim) > 0.0) & (beside <= RADIUS)
    stays = torch.zeros_like(turn)
    return torch.cat([_surely(stays, MOVES), _surely(turn, TURNS), _surely(fires.long(), FIRES)], -1)


def walker(arrays: Mapping[str, Tensor], group: Group) -> Tensor:
    """Moves and turns at random, forward more often than not, and fires once in twenty steps.

    Args:
        arrays: of the world.
        group: of the agents that it plays.

    Returns:
        (num_envs, group size, 12) float32, logits of move, turn and fire.
    """
    num_envs = arrays["positions"].shape[0]
    logits = arrays["positions"].new_zeros((num_envs, group.size, MOVES + TURNS + FIRES))
    logits[..., 3] = 2.0  # forward
    logits[..., -1] = -2.944  # ln(1 / 19)
    return logits


def _nearest(fov: float, arrays: Mapping[str, Tensor], group: Group) -> tuple[Tensor, Tensor]:
    """Metres to the nearest opponent in view, infinite without one, and degrees to the left that it is off the aim."""
    positions, in_sight = arrays["positions"], arrays["in_sight"][:, group.slice]
    offset = positions[:, None] - positions[:, group.slice, None]  # (num_envs, group size, agents, 2)
    x, y = offset.unbind(-1)
    off = torch.rad2deg(torch.atan2(y, x)) - arrays["angles"][:, group.slice, None]
    off = torch.remainder(off + 180.0, 360.0) - 180.0
    in_view = in_sight & (2.0 * off.abs() <= fov)
    distance, nearest = torch.where(in_view, offset.norm(dim=-1), torch.inf).min(-1)
    return distance, off.gather(-1, nearest[..., None]).squeeze(-1)


def _braked(spin: Tensor, params: Deathmatch.Params) -> Tensor:
    """Degrees that a turret of so many degrees a second still turns if it brakes as hard as it can."""
    speed, way = spin.abs(), torch.zeros_like(spin)
    for _ in range(BRAKING):
        speed = ((1.0 - params.decay) * speed - SLIGHT * params.ang_accel / params.fps).clamp(min=0.0)
        way = way + speed / params.fps
    return way.copysign(spin)


def _surely(chosen: Tensor, choices: int) -> Tensor:
    """Logits of one head that are as good as a choice."""
    is_chosen = chosen[..., None] == torch.arange(choices, device=chosen.device)
    return torch.where(is_chosen, 0.0, NEVER)
