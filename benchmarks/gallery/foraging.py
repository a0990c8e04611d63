"""Foraging beside lbforaging and EnvPool, and with more and more players."""

from __future__ import annotations

from collections.abc import Callable

from .case import Case
from .stepping import envpool_choices, one_env

STEPS = 50  # of an episode


def lbforaging(num_envs: int) -> tuple[Callable[[], object], int]:
    """The original, one env of the default case."""
    del num_envs
    from lbforaging.foraging.environment import ForagingEnv

    return one_env(ForagingEnv(2, 1, 2, 1, None, (8, 8), 2, 8, STEPS, False))


def envpool(num_envs: int) -> tuple[Callable[[], object], int]:
    """EnvPool's version of the default case, in synchronous mode with one thread."""
    return envpool_choices("LevelBasedForaging-v0", num_envs, agents=2, choices=6)


CROWD = {"rows": 20, "cols": 20, "max_num_food": 4, "sight": 20}

CASES = (
    Case("foraging, 8x8-2p-2f", "foraging", 1024, peers={"lbforaging": lbforaging, "envpool": envpool}),
    *(
        Case(f"foraging, {players} players", "foraging", 2048 // players, params={**CROWD, "players": players})
        for players in (2, 4, 8, 16, 32)
    ),
)
