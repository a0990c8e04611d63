"""Battle's rules once more, in plain loops over soldiers and cells: one env, in float32 where the kernel is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpworld.envs.battle.battle import Battle

Cell = tuple[int, int]


@dataclass
class Soldier:
    """One soldier; ``cell`` is (x, y) on the map, None once it is dead."""

    army: int
    cell: Cell | None
    hp: np.float32


@dataclass
class Outcome:
    """What a step did, by soldier, and how many wanted a cell that another got."""

    rewards: list[np.float32]
    kills: list[int]
    died: list[bool]
    lost_races: int


def actions_of(p: Battle.Params) -> list[tuple[Cell, bool]]:
    """Of each action how far it reaches, and whether it strikes."""

    def within(radius: float) -> list[Cell]:
        far = int(radius)
        cells = [(x, y) for y in range(-far, far + 1) for x in range(-far, far + 1)]
        return [(x, y) for x, y in cells if np.hypot(x, y) <= radius]

    walks = [(cell, False) for cell in within(p.move_radius)]
    return walks + [(cell, True) for cell in within(p.attack_radius) if cell != (0, 0)]


def step(p: Battle.Params, soldiers: list[Soldier], actions: list[int], turn: int) -> Outcome:
    """Change the soldiers as one step does."""
    known = actions_of(p)
    chosen = [known[action] for action in actions]
    first = sorted(range(len(soldiers)), key=lambda agent: agent ^ turn)
    lived = [soldier.cell is not None for soldier in soldiers]
    stands = {soldier.cell: agent for agent, soldier in enumerate(soldiers) if soldier.cell is not None}

    def reached(agent: int) -> Cell:
        (x, y), (dx, dy) = soldiers[agent].cell or (0, 0), chosen[agent][0]
        return x + (dx if soldiers[agent].army == 0 else -dx), y + dy

    victims: dict[int, list[int]] = {}  # their attackers, in the order of the step
    for agent in first:
        struck = stands.get(reached(agent)) if lived[agent] and chosen[agent][1] else None
        if struck is not None and soldiers[struck].army != soldiers[agent].army:
            victims.setdefault(struck, []).append(agent)
    left = {
        agent: soldier.hp - np.float32(p.damage) * np.float32(len(victims.get(agent, [])))
        for agent, soldier in enumerate(soldiers)
    }
    died = [lived[agent] and left[agent] < 0 for agent in range(len(soldiers))]
    killers = [attackers[0] for victim, attackers in victims.items() if died[victim]]
    hit = {attacker for attackers in victims.values() for attacker in attackers}
    rewards = [_reward(p, lived[a], died[a], chosen[a][1], a in hit, a in killers) for a in range(len(soldiers))]

    for agent, soldier in enumerate(soldiers):
        if died[agent]:
            soldier.cell, soldier.hp = None, np.float32(0)
        elif lived[agent]:
            soldier.hp = min(np.float32(left[agent] + np.float32(p.step_recover)), np.float32(p.max_hp))
    taken = {soldier.cell for soldier in soldiers}
    entered: list[Cell] = []
    lost_races = 0
    for agent in first:
        x, y = reached(agent)
        is_inside = 0 < x < p.map_size - 1 and 0 < y < p.map_size - 1
        if soldiers[agent].cell is None or chosen[agent][1] or not is_inside:
            continue
        lost_races += (x, y) in entered
        if (x, y) not in taken:
            soldiers[agent].cell = x, y
            entered.append((x, y))
            taken.add((x, y))  # and the cell that it leaves stays taken until the step is over
    return Outcome(rewards, [killers.count(agent) for agent in range(len(soldiers))], died, lost_races)


def _reward(p: Battle.Params, lived: bool, died: bool, strikes: bool, hits: bool, kills: bool) -> np.float32:
    if not lived:
        return np.float32(0)
    if died:
        reward = np.float32(p.dead_penalty)
    else:
        reward = np.float32(np.float32(p.step_reward) + np.float32(p.attack_penalty if strikes else 0.0))
    if hits:
        reward = np.float32(reward + np.float32(p.kill_reward if kills else p.attack_opponent_reward))
    return reward


def view(p: Battle.Params, soldiers: list[Soldier], agent: int) -> np.ndarray:
    """(5, V, V) uint8: what a soldier sees."""
    far = p.view_radius
    seen = np.zeros((5, 2 * far + 1, 2 * far + 1), np.uint8)
    own = soldiers[agent]
    if own.cell is None:
        return seen
    stands = {soldier.cell: soldier for soldier in soldiers}
    for dy in range(-far, far + 1):
        for dx in range(-far, far + 1):
            x, y = own.cell[0] + (dx if own.army == 0 else -dx), own.cell[1] + dy
            if dx**2 + dy**2 > far**2 or not (0 <= x < p.map_size and 0 <= y < p.map_size):
                continue
            seen[0, dy + far, dx + far] = 255 * (x in (0, p.map_size - 1) or y in (0, p.map_size - 1))
            other = stands.get((x, y))
            if other is not None:
                plane = 1 if other.army == own.army else 3
                seen[plane, dy + far, dx + far] = 255
                share = np.float32(other.hp / np.float32(p.max_hp)) * np.float32(255)
                seen[plane + 1, dy + far, dx + far] = int(share + np.float32(0.5))
    return seen
