"""Copies of spaces: each has a generator of its own, and so has each part of a Dict."""

from __future__ import annotations

import copy
from typing import TypeVar

from gymnasium.spaces import Dict, Space

AnySpace = TypeVar("AnySpace", bound=Space)


def own_space(space: AnySpace) -> AnySpace:
    """A space that shares nothing with the given one, not even a part that stands in it twice."""
    copied = copy.deepcopy(space)
    if isinstance(copied, Dict):
        copied.spaces = {key: own_space(part) for key, part in copied.spaces.items()}
    return copied
