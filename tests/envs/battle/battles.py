"""Reading and setting the soldiers of battle's worlds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from tests.envs.battle.battle_oracle import Cell, Outcome, Soldier, step, view
from warpworld import World
from warpworld.envs.battle.battle import Battle


def battle_world(num_envs: int = 1, **params: object) -> World:
    """A world on the CPU, reset."""
    world = World(Battle(**params), num_envs, "cpu", num_workers=1)
    world.reset()
    return world


def soldiers_of(world: World, env: int = 0) -> list[Soldier]:
    """The soldiers of an env as the oracle has them."""
    p = world.environment.params
    side, places, hp = p.map_size + 2 * p.view_radius, world.data.numpy("place")[env], world.data.numpy("hp")[env]
    cells = [None if at < 0 else (int(at) % side - p.view_radius, int(at) // side - p.view_radius) for at in places]
    return [Soldier(int(i >= p.army_size), cell, hp[i]) for i, cell in enumerate(cells)]


def place(world: World, cells: Sequence[Cell | None], hp: Sequence[float] | None = None, turn: int = 0) -> None:
    """Put the soldiers of env 0 on these cells of the map; None is a dead one."""
    p = world.environment.params
    side = p.map_size + 2 * p.view_radius
    health = np.full(len(cells), p.max_hp, np.float32) if hp is None else np.asarray(hp, np.float32)
    grid = world["cells"][0].clone()
    red = 2 << max(10, (len(cells) - 1).bit_length())  # as in battle.cu
    grid[(grid & 3 * red) > 0] = 0
    world["planes"][0] = 0
    for agent, cell in enumerate(cells):
        at = -1 if cell is None else (cell[1] + p.view_radius) * side + cell[0] + p.view_radius
        world["place"][0, agent] = at
        world["hp"][0, agent] = 0.0 if cell is None else float(health[agent])
        if at >= 0:
            army = int(agent >= p.army_size)
            grid[at] = red << army | agent
            world["planes"][0, 2 * army, at] = 255
            world["planes"][0, 2 * army + 1, at] = int(health[agent] / np.float32(p.max_hp) * np.float32(255) + 0.5)
    world["cells"][0] = grid
    alive = torch.tensor([cell is not None for cell in cells])
    world["left"][0] = torch.stack([alive[: p.army_size].sum(), alive[p.army_size :].sum()]).int()
    world["turn"][0] = turn


def act(world: World, actions: Sequence[int]) -> None:
    """A step of env 0."""
    world["actions"][0, :, 0] = torch.tensor(actions, dtype=torch.int32)
    world.step()


def anywhere(p: Battle.Params, generator: np.random.Generator) -> list[Cell]:
    """Cells of the map for all soldiers, no two on one."""
    inside = p.map_size - 2
    spots = generator.permutation(inside**2)[: 2 * p.army_size]
    return [(int(spot) % inside + 1, int(spot) // inside + 1) for spot in spots]


def compare_step(world: World, actions: Sequence[int], viewers: Sequence[int]) -> Outcome:
    """A step of env 0 against the oracle, from where its soldiers are; the views of some of them."""
    p = world.environment.params
    soldiers, turn, kills = soldiers_of(world), int(world["turn"]), world["kills"].clone()
    lived = [soldier.cell is not None for soldier in soldiers]
    act(world, actions)
    outcome = step(p, soldiers, list(actions), turn)
    np.testing.assert_array_equal(world["rewards"][0].cpu(), outcome.rewards)
    assert world["agent_terminated"][0].tolist() == outcome.died
    assert world["agent_mask"][0].tolist() == lived
    assert not world["terminated"] and not world["truncated"]
    assert soldiers_of(world) == soldiers
    assert (world["kills"] - kills)[0].tolist() == outcome.kills
    assert world["left"][0].tolist() == [
        sum(soldier.cell is not None for soldier in soldiers if soldier.army == army) for army in (0, 1)
    ]
    for agent in viewers:
        seen = world["observations"][0, agent].cpu().numpy()
        np.testing.assert_array_equal(seen, view(p, soldiers, agent))
    return outcome
