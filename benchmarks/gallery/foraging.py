"""Foraging beside lbforaging and EnvPool, and with more and more players."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import Case

STEPS = 50  # of an episode


def lbforaging(num_envs: int) -> tuple[Callable[[], object], int]:
    """The original, one env of the default case."""
    del num_envs
    from lbforaging.foraging.environment import ForagingEnv

    env = ForagingEnv(2, 1, 2, 1, None, (8, 8), 2, 8, STEPS, False)
    env.reset(seed=0)
    env.action_space.seed(0)

    def step() -> None:
        if env.step(env.action_space.sample())[2]:
            env.reset()

    return step, 1


def envpool(num_envs: int) -> tuple[Callable[[], object], int]:
    """EnvPool's version of the default case, in synchronous mode with one thread."""
    import envpool as library

    env = library.make("LevelBasedForaging-v0", env_type="gymnasium", num_envs=num_envs, num_threads=1)
    env.reset()
    generator = np.random.default_rng(0)
    sets = [generator.integers(0, 6, (num_envs, 2)).astype(np.int32) for _ in range(16)]
    numbers = iter(range(1 << 62))
    return lambda: env.step(sets[next(numbers) % 16]), num_envs


CROWD = {"rows": 20, "cols": 20, "max_num_food": 4, "sight": 20}

CASES = (
    Case("foraging, 8x8-2p-2f", "foraging", 1024, peers={"lbforaging": lbforaging, "envpool": envpool}),
    *(
        Case(f"foraging, {players} players", "foraging", 2048 // players, params={**CROWD, "players": players})
        for players in (2, 4, 8, 16, 32)
    ),
)
