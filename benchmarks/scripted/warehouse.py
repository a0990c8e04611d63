"""A rule for the warehouse: each robot fetches the nearest shelf that is asked for, by the shortest way."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from warpworld.environment import Group

from .logits import surely

UP, DOWN, LEFT, RIGHT = range(4)
NOTHING, FORWARD, TURN_LEFT, TURN_RIGHT, TOGGLE = range(5)
CLOCKWISE = (UP, RIGHT, DOWN, LEFT)
PLACE_OF = {direction: place for place, direction in enumerate(CLOCKWISE)}
FAR = 10_000
IMPATIENCE = 0.2  # the chance that a robot does anything else, so that two who meet do not wait for ever


def fetch(arrays: Any, group: Group) -> Tensor:
    """Logits (envs, robots, 5)."""
    robots = [_decide(arrays, robot) for robot in range(group.size)]
    sure = surely(torch.stack(robots, 1), 5)
    meets = torch.rand(sure.shape[:2], device=sure.device) < IMPATIENCE
    other = torch.tensor([0.0, 1.0, 1.0, 1.0, -50.0], device=sure.device)
    near = _distance_between(arrays) <= 3
    return torch.where((meets & near[:, None])[..., None], other, sure)


def _decide(arrays: Any, robot: int) -> Tensor:
    """(envs,) what one robot does."""
    ground, shelf_at = arrays["ground"].long(), arrays["shelf_at"].long().flatten(1)
    rows, columns = ground.shape
    envs = torch.arange(len(shelf_at), device=ground.device)
    carrying, cell = arrays["carrying"][:, robot].long(), arrays["cell"][:, robot].long()
    wanted = _wanted(arrays)
    loaded = carrying > 0
    shelf_at[envs, cell] *= ~loaded  # the carried one is in nobody's way
    brings = loaded & arrays["requested"][envs, (carrying - 1).clamp(min=0)]
    targets = torch.where(loaded[:, None], (ground.flatten() == 1) & (shelf_at == 0), wanted)
    at_goal = torch.zeros(rows * columns, dtype=torch.bool, device=ground.device)
    at_goal[arrays["goals"].long()] = True
    targets = torch.where(brings[:, None], at_goal, targets)
    open_cells = (ground.flatten() > 0).expand(len(envs), -1).clone()
    open_cells &= ~loaded[:, None] | (shelf_at == 0)
    open_cells[envs, cell] = True
    others = [k for k in range(arrays["cell"].shape[1]) if k != robot]
    for k in others:  # robots are walls for a step
        open_cells[envs, arrays["cell"][:, k].long()] = False
    way = _ways(targets, open_cells, rows, columns)
    is_there = targets[envs, cell] & ~brings
    around = torch.stack(
        [way[envs, (cell + step).clamp(0, rows * columns - 1)] for step in (-columns, columns, -1, 1)], 1
    )
    best = around.argmin(1)
    drive = _turn_or_drive(arrays["direction"][:, robot].long(), best)
    drive = torch.where(around.amin(1) >= FAR, NOTHING, drive)
    return torch.where(is_there, TOGGLE, drive)


def _wanted(arrays: Any) -> Tensor:
    """(envs, cells) bool: where a shelf is asked for that nobody carries."""
    cells = torch.zeros_like(arrays["shelf_at"].flatten(1), dtype=torch.bool)
    cells.scatter_(1, arrays["shelf_cell"].long(), arrays["requested"])
    for robot in range(arrays["cell"].shape[1]):
        busy = (arrays["carrying"][:, robot] > 0)[:, None]
        here = torch.nn.functional.one_hot(arrays["cell"][:, robot].long(), cells.shape[1]).bool()
        cells &= ~(busy & here)
    return cells


def _ways(targets: Tensor, open_cells: Tensor, rows: int, columns: int) -> Tensor:
    """(envs, cells): steps to the nearest target over open cells."""
    way = torch.where(targets & open_cells, 0, FAR).view(-1, rows, columns)
    passable = open_cells.view(-1, rows, columns)
    for _ in range(rows + columns + 8):
        near = torch.nn.functional.pad(way, (1, 1, 1, 1), value=FAR)
        step = torch.stack([near[:, :-2, 1:-1], near[:, 2:, 1:-1], near[:, 1:-1, :-2], near[:, 1:-1, 2:]]).amin(0) + 1
        way = torch.where(passable, torch.minimum(way, step), FAR)
    return way.flatten(1)


def _turn_or_drive(direction: Tensor, best: Tensor) -> Tensor:
    place = torch.tensor([PLACE_OF[k] for k in range(4)], device=direction.device)
    turns = torch.remainder(place[best] - place[direction], 4)
    return torch.where(turns == 0, FORWARD, torch.where(turns == 3, TURN_LEFT, TURN_RIGHT))


def _distance_between(arrays: Any) -> Tensor:
    """(envs,) cells between the first two robots."""
    columns = arrays["ground"].shape[1]
    a, b = arrays["cell"][:, 0].long(), arrays["cell"][:, 1].long()
    return (a // columns - b // columns).abs() + (a % columns - b % columns).abs()
