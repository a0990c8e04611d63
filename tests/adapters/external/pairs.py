"""Pairs of choices, of which masks allow some."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Tuple

SEEN = Box(0.0, 9.0, (1,), np.float32)
PAIRS = Tuple((Discrete(3), Discrete(2)))
MASKS: dict[str, Any] = {
    "joint": np.array([[1, 0], [0, 0], [0, 1]]),
    "parts": (np.array([1, 0, 1]), np.array([0, 1])),
}
LEGAL = {"joint": {(0, 0), (2, 1)}, "parts": {(0, 1), (2, 1)}}


def is_legal(action: Any, masks: str) -> bool:
    """Whether a mask allows a pair, which is in its space."""
    return PAIRS.contains(action) and tuple(map(int, action)) in LEGAL[masks]
