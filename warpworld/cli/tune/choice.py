"""Chooses a size from measured speeds: when more envs no longer pay, and how many to take. Nothing is measured."""

from __future__ import annotations

from collections.abc import Sequence

KINDS = ("simulation", "rollout", "training")  # what is measured
GAIN = 1.1  # a doubling that pays less than this has flattened
KEPT = 0.95  # share of the best speed that the chosen size has at least
FLAT_DOUBLINGS = 2  # in a row, after which no larger size is tried: one may be noise
MEMORY_SHARE = 0.5  # of what is free, which a store may take


def has_flattened(rates: Sequence[float]) -> bool:
    """Whether the last doublings gained nothing over the best speed before them.

    Args:
        rates: speeds of successive doublings of one number.
    """
    if len(rates) <= FLAT_DOUBLINGS:
        return False
    return max(rates[-FLAT_DOUBLINGS:]) < GAIN * max(rates[:-FLAT_DOUBLINGS])


def chosen(rates: Sequence[float]) -> int:
    """Choose the smallest of the sizes that is nearly as fast as the fastest.

    Args:
        rates: speeds of rising sizes, at least one.

    Returns:
        Its place among them.
    """
    enough = KEPT * max(rates)
    return next(place for place, rate in enumerate(rates) if rate >= enough)


def fits(nbytes: int, free: int | None) -> bool:
    """Whether a store of twice as many envs may be made.

    Args:
        nbytes: of the present store.
        free: bytes that could be allocated beside it, None where that is not known.
    """
    return free is None or 2 * nbytes <= MEMORY_SHARE * (free + nbytes)
