"""Warehouses beside rware and EnvPool, and with more and more robots."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import Case


def rware(num_envs: int) -> tuple[Callable[[], object], int]:
    """The original, one env of rware-tiny-2ag."""
    del num_envs
    from rware.warehouse import RewardType, Warehouse

    env = Warehouse(3, 8, 1, 2, 0, 1, 2, None, 500, RewardType.INDIVIDUAL)
    env.reset(seed=0)
    env.action_space.seed(0)

    def step() -> None:
        if env.step(env.action_space.sample())[2]:
            env.reset()

    return step, 1


def envpool(num_envs: int) -> tuple[Callable[[], object], int]:
    """EnvPool's RobotWarehouse, which has four robots, in synchronous mode with one thread."""
    import envpool as library

    env = library.make("RobotWarehouse-v0", env_type="gymnasium", num_envs=num_envs, num_threads=1)
    env.reset()
    generator = np.random.default_rng(0)
    sets = [generator.integers(0, 5, (num_envs, 4)).astype(np.int32) for _ in range(16)]
    numbers = iter(range(1 << 62))
    return lambda: env.step(sets[next(numbers) % 16]), num_envs


CASES = (
    Case("warehouse, tiny-2ag", "warehouse", 512, peers={"rware": rware}),
    *(
        Case(
            f"warehouse, large-{robots}ag",
            "warehouse",
            1024 // robots,
            params={"layout": "large", "agents": robots, "request_queue_size": robots},
            peers={"envpool": envpool} if robots == 4 else {},
        )
        for robots in (2, 4, 8, 16, 32)
    ),
)
