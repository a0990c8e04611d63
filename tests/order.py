"""The order of tests that several processes share: files with slow tests first, so that none is left for the end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

LONGEST_FIRST = ("slow", "heavy", "long")  # marks


def order_for_workers(items: Sequence[pytest.Item], num_workers: int) -> list[pytest.Item]:
    """Tests in the order in which pytest-xdist cuts them into as many parts as there are workers.

    Each part holds its share of slow files first, then of heavy, long and other ones. A file stays whole, since its
    tests share fixtures, unless two parts meet in it.

    Args:
        items: the collected tests, file by file.
        num_workers: processes that share them.
    """
    ranks: dict[object, int] = {}
    for item in items:
        ranks[item.path] = min(ranks.get(item.path, len(LONGEST_FIRST)), _rank(item))
    groups = [[item for item in items if ranks[item.path] == rank] for rank in range(len(LONGEST_FIRST) + 1)]
    return [
        item
        for worker in range(num_workers)
        for group in groups
        for item in group[len(group) * worker // num_workers : len(group) * (worker + 1) // num_workers]
    ]


def _rank(item: pytest.Item) -> int:
    marked = (rank for rank, mark in enumerate(LONGEST_FIRST) if item.get_closest_marker(mark))
    return next(marked, len(LONGEST_FIRST))
