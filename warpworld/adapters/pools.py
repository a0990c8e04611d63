"""EnvPool's protocol in either order: batches as they were sent, or as their envs are ready."""

from __future__ import annotations

from typing import TypeAlias

from warpworld.adapters.pool import Pool
from warpworld.adapters.ready_pool import ReadyPool
from warpworld.errors import DeclarationError, suggest
from warpworld.world import World

ORDERS = "sent", "ready"
AnyPool: TypeAlias = Pool | ReadyPool


def pool(world: World, *, batch_size: int | None = None, order: str = "sent") -> AnyPool:
    """A World under EnvPool's protocol.

    Args:
        world: not yet sealed.
        batch_size: envs that ``recv`` returns; by default all of them. In the order "sent" it divides their number.
        order: "sent" returns batches of fixed envs in the order sent, so that runs repeat exactly; "ready" returns the
            envs that are ready first.

    Raises:
        DeclarationError: there is no such order, or the pool of that order refuses the world or ``batch_size``.
    """
    if order not in ORDERS:
        raise DeclarationError(f"order={order!r}: expected 'sent' or 'ready'.{suggest(str(order), ORDERS)}")
    return (Pool if order == "sent" else ReadyPool)(world, batch_size=batch_size)
