"""Ends of single agents, where agents are rows of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np


def mixed(chosen: np.ndarray, one: Any, other: Any) -> Any:
    """Observations of ``one`` in the chosen rows, and of ``other`` in the rest.

    Args:
        chosen: (size,) bool.
        one: (size, ...), or a dictionary of such.
        other: likewise.
    """
    if isinstance(one, dict):
        return {key: mixed(chosen, part, other[key]) for key, part in one.items()}
    return np.where(chosen.reshape(-1, *(1,) * (one.ndim - 1)), one, other)
