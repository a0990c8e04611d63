"""Messages of adapters for calls at the wrong time."""

from __future__ import annotations

from warpworld.errors import StoreError


def not_begun() -> None:
    """Refuse a step before the first reset."""
    raise StoreError("no episode has begun; call reset() before step()")


def has_ended() -> None:
    """Refuse a step of the one env behind the end of its episode."""
    raise StoreError("the episode has ended; call reset() before step()")


def is_closed() -> None:
    """Refuse a step of an env that was closed."""
    raise StoreError("the env is closed")
