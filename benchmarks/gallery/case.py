"""What is measured of an environment, and beside which peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# Given a wished number of envs: a call that steps them all with random actions, and how many they are. A library that
# steps one env at a time says 1.
Peer = Callable[[int], tuple[Callable[[], object], int]]


@dataclass(frozen=True)
class Case:
    """An environment of a size.

    Attributes:
        label: of its rows.
        name: of the environment.
        num_envs: how many step together.
        params: of the environment.
        peers: by the name under which each is imported.
    """

    label: str
    name: str
    num_envs: int
    params: Mapping[str, Any] = field(default_factory=dict)
    peers: Mapping[str, Peer] = field(default_factory=dict)
