"""Rules for games of MinAtar: a few lines of what a beginner would do."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from warpworld.environment import Group

from .logits import surely

SIDE = 10


def up(arrays: Any, group: Group) -> Tensor:
    """Freeway: up, whatever comes."""
    return surely(torch.ones_like(arrays["chicken"])[:, None], 3)


def dodge_and_fetch(arrays: Any, group: Group) -> Tensor:
    """Asterix: of the cells that it can step to, one that no enemy is about to reach, and the nearest to gold."""
    player, crossers = arrays["player"].long(), arrays["crossers"].long()  # column and row; column, motion, gold
    steps = torch.tensor([[0, 0], [-1, 0], [0, -1], [1, 0], [0, 1]], device=player.device)
    to = player[:, None] + steps
    to = torch.stack([to[..., 0].clamp(0, SIDE - 1), to[..., 1].clamp(1, SIDE - 2)], -1)
    row = torch.arange(1, SIDE - 1, device=player.device)
    ahead = (to[..., None, 0] - crossers[:, None, :, 0]) * crossers[:, None, :, 1]  # cells until it is there
    is_here = (crossers[..., 0] >= 0)[:, None]
    is_enemy, is_gold = is_here & (crossers[..., 2] == 0)[:, None], is_here & (crossers[..., 2] == 1)[:, None]
    same_row = to[..., None, 1] == row
    danger = (is_enemy & same_row & (ahead >= -1) & (ahead <= 2)).any(-1)
    way = (to[..., None, 0] - crossers[:, None, :, 0]).abs() + (to[..., None, 1] - row).abs()
    nearest = torch.where(is_gold, way, 3 * SIDE).amin(-1)
    return surely((1000 * danger.long() + nearest).argmin(-1)[:, None], len(steps))


def shoot_from_cover(arrays: Any, group: Group) -> Tensor:
    """Space invaders: out of the way of a bullet, else shoot at aliens above, else walk under the nearest ones."""
    cannon = arrays["cannon"].long()
    columns = torch.arange(SIDE, device=cannon.device)
    aliens = _columns(arrays["aliens"]).any(1)
    threatened = _columns(arrays["alien_bullets"])[:, SIDE - 4 :].any(1)
    here = torch.nn.functional.one_hot(cannon, SIDE).bool()
    way = (columns - cannon[:, None]).abs()
    safe = torch.where(threatened, SIDE, way).argmin(1)
    under = torch.where(aliens & ~threatened, way, SIDE).argmin(1)
    aim = torch.where((threatened & here).any(1), safe, under)
    walk = torch.where(aim < cannon, 1, torch.where(aim > cannon, 2, 0))
    can_shoot = (aliens & here).any(1) & (arrays["reload"][:, 0] == 0) & ~(threatened & here).any(1)
    return surely(torch.where(can_shoot, 3, walk)[:, None], 4)


def shoot_along_the_row(arrays: Any, group: Group) -> Tensor:
    """Seaquest: to the row of the nearest enemy that it is not beside, look at it, and shoot."""
    submarine, enemies = arrays["submarine"].long(), arrays["enemies"].long()
    is_there = torch.arange(enemies.shape[1], device=enemies.device) < arrays["num_enemies"][:, None]
    rows_off = (enemies[..., 1] - submarine[:, 1:2]).abs()
    columns_off = enemies[..., 0] - submarine[:, :1]
    is_close = is_there & (columns_off.abs() <= 2) & (rows_off <= 1)
    cost = torch.where(is_there & ~is_close, rows_off * SIDE + columns_off.abs(), 1000)
    target = cost.argmin(1, keepdim=True)
    off, column = (enemies[..., 1] - submarine[:, 1:2]).gather(1, target)[:, 0], columns_off.gather(1, target)[:, 0]
    has_target = cost.amin(1) < 1000
    turn = torch.where(column < 0, 1, 3)
    looks = submarine[:, 2] * column > 0
    in_row = torch.where(looks, 5, turn)
    level = torch.where(off < 0, 2, 4)
    wait = torch.where(submarine[:, 1] < 4, 4, 0)  # dives from where it begins
    aims = torch.where(off == 0, in_row, level)
    return surely(torch.where(has_target, aims, wait)[:, None], 6)


def _columns(bits: Tensor) -> Tensor:
    """(envs, rows, columns) bool of rows whose bit x is column x."""
    rows = bits.view(torch.int32)[..., None]
    return (rows >> torch.arange(SIDE, dtype=torch.int32, device=rows.device) & 1).bool()
