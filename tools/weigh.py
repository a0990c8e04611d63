"""Prints what warpworld brings besides torch, by the files that pip installed: `python -m tools.weigh`."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Collection, Iterable

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def required(distribution: importlib.metadata.Distribution) -> list[str]:
    """Names of what a distribution needs, without extras."""
    found = [Requirement(text) for text in distribution.requires or []]
    return [each.name for each in found if each.marker is None or each.marker.evaluate({"extra": ""})]


def weights(names: Iterable[str], left_out: Collection[str]) -> dict[str, int]:
    """Bytes of distributions and of all that they need, by name; compiled Python is not counted."""
    todo, found = list(names), dict[str, int]()
    while todo:
        name = canonicalize_name(todo.pop())
        if name in found or name in left_out:
            continue
        distribution = importlib.metadata.distribution(name)
        paths = [file.locate() for file in distribution.files or [] if not file.name.endswith(".pyc")]
        found[name] = sum(path.stat().st_size for path in paths if path.is_file())
        todo += required(distribution)
    return found


def main() -> None:
    """Print the weights, the heaviest first, and their sum."""
    found = weights(required(importlib.metadata.distribution("warpworld")), {"torch"})
    for name, size in sorted(found.items(), key=lambda item: -item[1]):
        print(f"{size / 1e6:7.1f} MB  {name}")
    print(f"{sum(found.values()) / 1e6:7.1f} MB")


if __name__ == "__main__":
    main()
