"""Bodies in float64, written from the rules: first contacts by search on distances, normals by differences.

Many envs at once, as one after the other would take minutes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.eyes.body_worlds import gaps, sizes

SKIN, GRAZE = 1e-4, 0.25e-4
FAR = np.array([1e3, 1e3])  # where a wall of size 0 is


class Oracle:
    """Bodies of envs with the same number of bodies and walls."""

    def __init__(self, arrays: dict[str, np.ndarray], rules: dict[str, Any]) -> None:
        self.x, self.v = arrays["position"].astype(float), arrays["velocity"].astype(float)
        self.held, self.locked = arrays["held"].copy(), arrays["locked"]
        mass = np.where(self.locked != 0, np.inf, arrays["mass"].astype(float))
        self.inverse, self.rules = 1.0 / mass, rules
        self.half, self.radius = sizes(arrays["shape"].astype(float))
        walls = arrays["walls"].astype(float)
        there = walls[..., 2:].min(-1) > 0
        self.walls, self.wall_half = np.where(there[..., None], walls[..., :2], FAR), walls[..., 2:]
        self.low, self.high = np.moveaxis(arrays["corners"].astype(float), 1, 0)
        self.envs, self.bodies = self.locked.shape
        self.climbers = rules.get("climbers", 0)
        self.level, self.uphill = arrays["level"].copy(), arrays["uphill"]

    def obstacles(self, body: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Middles, half sizes and radii of all others and the walls, those of the body added."""
        middle = np.concatenate([self.x, self.walls], 1)
        half = np.concatenate([self.half, self.wall_half], 1) + self.half[:, body, None]
        radius = np.concatenate([self.radius, np.zeros(self.walls.shape[:2])], 1) + self.radius[:, body, None]
        middle[:, body] = FAR
        if body < self.climbers:  # what it is above
            middle[np.ix_(self.level[:, body] == 1, np.arange(self.climbers, middle.shape[1]))] = FAR
        else:
            middle[:, : self.climbers][self.level[:, : self.climbers] == 1] = FAR
        return middle, half, radius

    def ways(self, body: int, direction: np.ndarray, most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far it can go until it meets each obstacle, infinite beyond ``most``; and until it meets the edge."""
        middle, half, radius = self.obstacles(body)

        def distance(way: np.ndarray) -> np.ndarray:
            return gaps(self.x[:, body, None] + way[..., None] * direction[:, None], half, radius + GRAZE, middle)

        low, high = np.zeros(middle.shape[:2]), np.repeat((most + SKIN)[:, None], middle.shape[1], 1)
        end = high.copy()
        for _ in range(70):  # its lowest point, as it is convex
            a, b = low + (high - low) / 3, high - (high - low) / 3
            falls = distance(a) > distance(b)
            low, high = np.where(falls, a, low), np.where(falls, high, b)
        lowest = 0.5 * (low + high)
        nears = (distance(lowest) < 0) & (lowest > 1e-9)
        low, high = np.zeros_like(end), lowest
        for _ in range(50):
            middle_way = 0.5 * (low + high)
            is_free = distance(middle_way) > 0
            low, high = np.where(is_free, middle_way, low), np.where(is_free, high, middle_way)
        to_edge = np.where(direction > 0, self.high - self.x[:, body], self.x[:, body] - self.low)
        reach = self.half[:, body] + self.radius[:, body, None]
        room = np.where(direction != 0, to_edge - reach, np.inf).min(-1) - SKIN
        return np.where(nears, np.maximum(low - (SKIN - GRAZE), 0), np.inf), np.maximum(room, 0)

    def normal(self, body: int, other: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Towards the obstacle: the direction in which the distance falls. Boxes meet along the axis."""
        middle, half, radius = self.obstacles(body)
        row = np.arange(self.envs)
        middle, half, radius = middle[row, other], half[row, other], radius[row, other]
        step = 1e-6
        slopes = [
            gaps(self.x[:, body] + step * e, half, radius, middle)
            - gaps(self.x[:, body] - step * e, half, radius, middle)
            for e in np.eye(2)
        ]
        slope = -np.stack(slopes, -1) / (2 * step)
        length = np.linalg.norm(slope, axis=-1, keepdims=True)
        return np.where((radius > 0)[:, None], slope / np.maximum(length, 1e-12), direction)

    def advance(self, body: int, axis: int, seconds: float) -> None:
        """A body's way along an axis, and the impulse at its end."""
        speed = np.where(self.inverse[:, body] > 0, self.v[:, body, axis], 0.0)
        direction = np.zeros((self.envs, 2))
        direction[:, axis] = np.where(speed < 0, -1.0, 1.0)
        wanted = np.abs(speed) * seconds
        ways, room = self.ways(body, direction, wanted)
        climbs = self.climbs(
            body, axis, direction, np.where(ways.min(-1) < np.minimum(room, wanted), ways.argmin(-1), -1)
        )
        if climbs.any():
            self.level[climbs, body] = 1
            ways, room = self.ways(body, direction, wanted)
        other = ways.argmin(-1)
        nearest = ways.min(-1)
        is_edge = room <= nearest
        first = np.minimum(nearest, room)
        self.x[:, body] += np.minimum(first, wanted)[:, None] * direction
        normal = np.where(is_edge[:, None], direction, self.normal(body, other, direction))
        fixed = is_edge | (other >= self.bodies)
        row, who = np.arange(self.envs), np.minimum(other, self.bodies - 1)
        inverse = np.where(fixed, 0.0, self.inverse[row, who])
        velocity = np.where(fixed[:, None], 0.0, self.v[row, who])
        into = ((self.v[:, body] - velocity) * normal).sum(-1)
        hits = (first < wanted) & (into > 0)
        total = np.maximum(self.inverse[:, body] + inverse, 1e-300)
        impulse = np.where(hits, (1 + self.rules["restitution"]) * into / total, 0.0)[:, None] * normal
        self.v[:, body] -= self.inverse[:, body, None] * impulse
        self.v[row, who] += inverse[:, None] * impulse

    def climbs(self, body: int, axis: int, direction: np.ndarray, other: np.ndarray) -> np.ndarray:
        """(envs,) Whether what it meets, -1 for nothing, is the low side of a ramp."""
        row, who = np.arange(self.envs), np.where(other < self.bodies, other, -1)
        leads = 1 + 2 * axis + (direction[:, axis] > 0)
        aside = np.abs(self.x[row, who, 1 - axis] - self.x[:, body, 1 - axis])
        fits = (self.uphill[row, who] == leads) & (aside < self.half[row, who, 1 - axis])
        return (who >= 0) & (body < self.climbers) & (self.held[:, body] < 0) & fits

    def land(self) -> None:
        """Climbers that are above nothing get back on level 0."""
        for body in range(self.climbers):
            middle = np.concatenate([self.x[:, self.climbers :], self.walls], 1)
            half = np.concatenate([self.half[:, self.climbers :], self.wall_half], 1)
            radius = np.concatenate([self.radius[:, self.climbers :], np.zeros(self.walls.shape[:2])], 1)
            gap = gaps(self.x[:, body, None], half, radius + self.radius[:, body, None], middle)
            self.level[gap.min(-1) > SKIN, body] = 0

    def pull(self, body: int, seconds: float) -> None:
        """The joint of a body: it breaks, or takes the relative velocity away."""
        other = self.held[:, body]
        row, who = np.arange(self.envs), np.maximum(other, 0)
        apart = self.v[row, who] - self.v[:, body]
        total = self.inverse[:, body] + self.inverse[row, who]
        impulse = np.where(total > 0, 1.0 / np.maximum(total, 1e-300), 0.0)[:, None] * apart
        gap = gaps(
            self.x[:, body],
            self.half[:, body] + self.half[row, who],
            self.radius[:, body] + self.radius[row, who],
            self.x[row, who],
        )
        too_far = gap > self.rules["joint_length"]
        too_strong = np.linalg.norm(impulse, axis=-1) > self.rules["joint_force"] * seconds
        breaks = (self.locked[row, who] != 0) | too_far | too_strong
        self.held[:, body] = np.where(breaks, -1, other)
        impulse = np.where(((other >= 0) & ~breaks)[:, None], impulse, 0.0)
        self.v[:, body] += self.inverse[:, body, None] * impulse
        self.v[row, who] -= self.inverse[row, who][:, None] * impulse

    def step(self, force: np.ndarray, timestep: int) -> None:
        """A step of all envs, whose time is the same."""
        seconds, parts = self.rules["seconds"], self.rules["substeps"]
        self.v = (self.v + seconds * self.inverse[..., None] * force) / (1 + self.rules["drag"] * seconds)
        for part in range(parts):
            turn = timestep * parts + part
            order = [(turn + place) % self.bodies for place in range(self.bodies)]
            for body in order:
                self.pull(body, seconds / parts)
            for body in order:
                for axis in (turn & 1, 1 - (turn & 1)):
                    self.advance(body, axis, seconds / parts)
            self.land()
