"""Players of MinAtar's games who live long enough to see what the games hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warpworld import World

Play = Callable[[World, np.random.Generator], np.ndarray]
COLUMNS = np.arange(10)


def at_random(world: World, generator: np.random.Generator) -> np.ndarray:
    """Actions of a player who does not look."""
    return generator.integers(0, world.environment.groups()[0].action.n, world.num_envs)  # type: ignore[attr-defined]


def mostly(share: float, play: Play) -> Play:
    """Of those of a player some, a share, are replaced by random ones."""

    def blended(world: World, generator: np.random.Generator) -> np.ndarray:
        is_random = generator.random(world.num_envs) < share
        return np.where(is_random, at_random(world, generator), play(world, generator))

    return blended


def under_the_ball(world: World, generator: np.random.Generator) -> np.ndarray:
    """Breakout's actions of a player that has the paddle where the ball will be."""
    ball, paddle = world.data.numpy("ball"), world.data.numpy("paddle")
    x = np.clip(ball[:, 0] + ball[:, 2] * generator.integers(0, 2, len(ball)), 0, 9)
    return np.where(x < paddle, 1, np.where(x > paddle, 2, 0))


def upwards(world: World, generator: np.random.Generator) -> np.ndarray:
    """Freeway's actions of a chicken that walks on."""
    return np.ones(world.num_envs, int)


def clear_of_enemies(world: World, generator: np.random.Generator) -> np.ndarray:
    """Asterix's actions of a player that keeps out of enemies' way, and prefers rows with gold."""
    player, crossers = world.data.numpy("player"), world.data.numpy("crossers")
    moves = np.array([[0, 0], [-1, 0], [0, -1], [1, 0], [0, 1]])
    cells = np.clip(player[:, None] + moves, (0, 1), (9, 8))  # (envs, actions, 2)
    beside = crossers[np.arange(len(player))[:, None], cells[..., 1] - 1]
    is_there, is_gold = beside[..., 0] >= 0, beside[..., 2] == 1
    ahead = (cells[..., 0] - beside[..., 0]) * beside[..., 1]
    danger = is_there & ~is_gold & (ahead >= 0) & (ahead <= 2)
    return ((is_there & is_gold) - 10 * danger + 0.5 * generator.random(danger.shape)).argmax(1)


def out_of_the_fire(world: World, generator: np.random.Generator) -> np.ndarray:
    """Space Invaders' actions of a cannon that shoots where aliens will be, and leaves where bullets fall."""
    cannon, march, reload = (world.data.numpy(name) for name in ("cannon", "march", "reload"))
    aliens, bullets = ((world.data.numpy(name)[..., None] >> COLUMNS) & 1 for name in ("aliens", "alien_bullets"))
    low = np.where(aliens, np.arange(10)[:, None], -1).max(1)  # (envs, columns) row of the lowest alien
    moves = march[:, 0] * (march[:, 1] < 9 - low.max(1))  # of the aliens, while a bullet flies
    target = np.where(low >= 0, abs(COLUMNS + moves[:, None] - cannon[:, None]), 99).argmin(1) + moves
    towards = np.where(target < cannon, 1, np.where(target > cannon, 2, np.where(reload[:, 0] == 0, 3, 0)))
    falling = np.pad(bullets[:, 7:9].any(1), ((0, 0), (1, 1)), constant_values=True)  # beside the screen, too
    envs = np.arange(world.num_envs)
    next_cell = cannon + 1 + np.where(towards == 1, -1, towards == 2)
    escape = np.where(falling[envs, cannon], np.where(falling[envs, cannon + 2], 0, 2), 1)
    return np.where(falling[envs, next_cell], np.where(falling[envs, cannon + 1], escape, 0), towards)


def up_and_down(world: World, generator: np.random.Generator) -> np.ndarray:
    """Seaquest's actions of a submarine that dives to the first row and surfaces, whenever that row is clear."""
    submarine, enemies = world.data.numpy("submarine"), world.data.numpy("enemies")
    here = np.arange(enemies.shape[1]) < world.data.numpy("num_enemies")[:, None]
    near = here & (enemies[..., 1] == 1) & (abs(enemies[..., 0] - submarine[:, :1]) < 4)
    is_clear = ~near.any(1) & ~world.data.numpy("enemy_bullets")[:, :, 0].any(1)
    return np.where(submarine[:, 1] > 0, 2, np.where(is_clear, 4, 0))


def to_divers(world: World, generator: np.random.Generator) -> np.ndarray:
    """Seaquest's actions of a submarine that heads for divers, shoots ahead, and surfaces when it is full."""
    submarine, divers = world.data.numpy("submarine"), world.data.numpy("divers")
    enemies, supplies = world.data.numpy("enemies"), world.data.numpy("supplies")
    x, y, looks = submarine.T
    here = np.arange(enemies.shape[1]) < world.data.numpy("num_enemies")[:, None]
    is_ahead = here & (enemies[..., 1] == y[:, None]) & ((enemies[..., 0] - x[:, None]) * looks[:, None] > 0)
    has_diver, is_full = world.data.numpy("num_divers") > 0, (supplies[:, 1] == 6) | (supplies[:, 0] < 20)
    dx, dy = divers[:, 0, 0] - x, np.where(is_full, -y, divers[:, 0, 1] - y)
    vertical, horizontal = np.where(dy < 0, 2, 4), np.where(dx < 0, 1, np.where(dx > 0, 3, 0))
    head_for = np.where(dy != 0, vertical, horizontal)
    idle = np.where(y < 2, 4, 0)
    return np.where(is_ahead.any(1) & (supplies[:, 2] == 0), 5, np.where(has_diver | is_full, head_for, idle))
