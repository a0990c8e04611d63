"""Skirmish in NumPy with loops over units, one skirmish at a time, written from its rules; without noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpworld.envs.skirmish.scenarios import KINDS

TICK = 1 / 16
WAYS = np.array([(0, 1), (1, 0), (0, -1), (-1, 0), (0, 0)], dtype=float)


@dataclass
class Oracle:
    """A skirmish.

    Attributes:
        allies: how many of the units, which are the first.
        kinds: (units,) places in ``KINDS``.
        places: (units, 2) cells.
        health: (units,) points.
        cooldown: (units,) seconds.
        side: of the map, cells.
    """

    allies: int
    kinds: np.ndarray
    places: np.ndarray
    health: np.ndarray
    cooldown: np.ndarray
    side: int

    def of(self, field: str) -> np.ndarray:
        """(units,): a number of each unit's kind."""
        return np.array([getattr(KINDS[kind], field) for kind in self.kinds], dtype=float)

    def step(self, actions: list[int]) -> tuple[float, float]:
        """Rewards of allies and enemies."""
        before = self.health.copy()
        for _ in range(8):
            self._shoot(actions)
            lives = self.health > 0
            self._move(actions)
            self.health[((self.places <= 0) | (self.places >= self.side)).any(1)] = 0.0
            assert not (self.health[~lives] > 0).any()
            self._push()
        lost = (before - self.health) / self.of("health")
        left = (self.health[: self.allies] > 0).any(), (self.health[self.allies :] > 0).any()
        ally, enemy = lost[self.allies :].mean(), lost[: self.allies].mean()
        return ally + float(left[0] and not left[1]), enemy + float(left[1] and not left[0])

    def target(self, unit: int, action: int) -> int:
        """Whom an attack is on."""
        return self.allies + action - 5 if unit < self.allies else self.allies - 1 - (action - 5)

    def _shoot(self, actions: list[int]) -> None:
        health, reach = self.health.copy(), self.of("reach")
        for unit, action in enumerate(actions):
            target = self.target(unit, action) if action >= 5 else unit
            near = np.linalg.norm(self.places[unit] - self.places[target]) < reach[unit]
            if target != unit and near and min(health[unit], health[target]) > 0 and self.cooldown[unit] <= 0:
                self.health[target] = max(self.health[target] - KINDS[self.kinds[unit]].damage, 0.0)
                self.cooldown[unit] = KINDS[self.kinds[unit]].reload
            else:
                self.cooldown[unit] -= TICK
        self._lived = health > 0

    def _move(self, actions: list[int]) -> None:
        ways = WAYS[np.minimum(actions, 4)] * self.of("speed")[:, None] * TICK
        self.places = np.where(self._lived[:, None], np.clip(self.places + ways, 0, self.side), self.places)

    def _push(self) -> None:
        places, radius, lives = self.places.copy(), self.of("radius"), np.flatnonzero(self.health > 0)
        for unit in lives:
            for other in lives:
                away = places[unit] - places[other]
                overlap = (radius[unit] + radius[other]) / (np.linalg.norm(away) + 1e-6) - 1
                if unit != other and overlap > 0:
                    self.places[unit] += away * overlap / 2

    def view(self, unit: int, last: list[int]) -> np.ndarray:
        """What a unit sees."""
        units = range(len(self.kinds)) if unit < self.allies else range(len(self.kinds) - 1, -1, -1)
        rows = [self._about(unit, other, last) for other in units if other != unit]
        own = np.zeros(10)
        if self.health[unit] > 0:
            kind = KINDS[self.kinds[unit]]
            own[:4] = self.health[unit] / kind.health, *self.places[unit] / self.side, self._reloaded(unit)
            own[4 + self.kinds[unit]] = 1
        return np.concatenate([*rows, own])

    def mask(self, unit: int) -> list[bool]:
        """What a unit may do."""
        lives, opponents = bool(self.health[unit] > 0), self._opponents(unit)
        found = [lives] * 4 + [True]
        for action in range(5, 5 + opponents):
            other = self.target(unit, action)
            near = np.linalg.norm(self.places[unit] - self.places[other]) < KINDS[self.kinds[unit]].reach
            found.append(bool(lives and self.health[other] > 0 and near))
        return found

    def _opponents(self, unit: int) -> int:
        return len(self.kinds) - self.allies if unit < self.allies else self.allies

    def _about(self, unit: int, other: int, last: list[int]) -> np.ndarray:
        row, away = np.zeros(13), self.places[other] - self.places[unit]
        sight = KINDS[self.kinds[unit]].sight
        if min(self.health[unit], self.health[other]) > 0 and np.linalg.norm(away) < sight:
            target = last[other] / (4 + self._opponents(other)) if last[other] >= 5 else 0
            row[0] = self.health[other] / KINDS[self.kinds[other]].health
            row[1:7] = *away / sight, *WAYS[min(last[other], 4)], target, self._reloaded(other)
            row[7 + self.kinds[other]] = 1
        return row

    def _reloaded(self, unit: int) -> float:
        return float(np.clip(self.cooldown[unit] / KINDS[self.kinds[unit]].reload, 0, 1))
