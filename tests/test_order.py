"""The order in which several processes share tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.order import order_for_workers


@dataclass(frozen=True)
class Item:
    """A test as pytest collects it."""

    file: str
    name: str
    mark: str = ""

    @property
    def path(self) -> Path:
        return Path(self.file)

    def get_closest_marker(self, name: str) -> str | None:
        return self.mark if name == self.mark else None


ITEMS: list[Any] = [
    *(Item("quick.py", "a"), Item("quick.py", "b")),
    *(Item("slow.py", "before"), Item("slow.py", "takes", "slow")),
    *(Item("long.py", "one", "long"), Item("long.py", "two", "long")),
]


@pytest.mark.parametrize(
    ("num_workers", "expected"), [(1, "before takes one two a b"), (2, "before one a takes two b")]
)
def test_each_worker_begins_with_its_share_of_the_slowest_files(num_workers: int, expected: str) -> None:
    assert " ".join(item.name for item in order_for_workers(ITEMS, num_workers)) == expected


@pytest.mark.parametrize("num_workers", [1, 3, 7, 20])
def test_none_is_lost(num_workers: int) -> None:
    assert sorted(order_for_workers(ITEMS, num_workers), key=str) == sorted(ITEMS, key=str)
