"""Warehouses beside rware and EnvPool, and with more and more robots."""

from __future__ import annotations

from collections.abc import Callable

from .case import Case
from .stepping import envpool_choices, one_env


def rware(num_envs: int) -> tuple[Callable[[], object], int]:
    """The original, one env of rware-tiny-2ag."""
    del num_envs
    from rware.warehouse import RewardType, Warehouse

    return one_env(Warehouse(3, 8, 1, 2, 0, 1, 2, None, 500, RewardType.INDIVIDUAL))


def envpool(num_envs: int) -> tuple[Callable[[], object], int]:
    """EnvPool's RobotWarehouse, which has four robots, in synchronous mode with one thread."""
    return envpool_choices("RobotWarehouse-v0", num_envs, agents=4, choices=5)


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
