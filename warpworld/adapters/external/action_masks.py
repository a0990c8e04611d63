"""Masks of actions, as libraries hand them over."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

from warpworld.environment.spaces import action_heads
from warpworld.errors import DeclarationError

MASK_KEYS = ("action_mask", "legal_action_mask")


def can_be_masked(action: Space) -> bool:
    """Whether actions of a space can be forbidden: choices can, numbers of a Box cannot."""
    return isinstance(action, (Discrete, MultiDiscrete, MultiBinary))


def mask_in(infos: Any) -> str | None:
    """The key of a mask in an agent's or a vector environment's infos; None if there is none."""
    if not isinstance(infos, dict):
        return None
    return next((key for key in MASK_KEYS if key in infos), None)


def late_mask(where: str) -> DeclarationError:
    """An error for a mask that comes with steps only, since a store must know of it before the first."""
    return DeclarationError(f"{where} has an action mask in step(), but had none in reset(); return it there too")


def fits(mask: Space, action: Space) -> bool:
    """Whether a space is that of masks of actions."""
    if not can_be_masked(action):
        return False
    parts = mask.spaces if isinstance(mask, Tuple) else (mask,)
    if not all(isinstance(part, (Box, MultiBinary, MultiDiscrete)) for part in parts):
        return False
    return sum(int(np.prod(part.shape or ())) for part in parts) == sum(action_heads(action))


def mask_row(given: Any, action: Space, where: str) -> np.ndarray:
    """One agent's mask: (choices of all heads,) bool, False for choices that are forbidden.

    Args:
        given: 0 and 1, or truth values, of that many choices in any shape; a tuple or list of such, one for each
            head; or for a MultiBinary space Gymnasium's form, a number for each flag.
        action: the space of actions.
        where: library, environment, agent and key, for messages.

    Raises:
        DeclarationError: it is something else.
    """
    expected = sum(action_heads(action))
    try:
        parts = list(given) if isinstance(given, (tuple, list)) else [given]
        row = np.concatenate([np.asarray(part).ravel() for part in parts])
    except (TypeError, ValueError):
        row = np.empty(0, object)
    if isinstance(action, MultiBinary) and row.dtype.kind in "biuf" and 2 * row.size == expected:
        row = np.stack([row != 1, row != 0], -1).ravel()  # as Gymnasium's: 0 or 1 is the value, 2 stands for both
    if row.dtype.kind not in "biuf" or row.size != expected:
        what = f"{row.dtype} of shape {np.shape(given)}" if isinstance(given, np.ndarray) else repr(given)[:80]
        raise DeclarationError(f"{where} is {what}, expected {expected} truth values, one for each choice of {action}")
    return row != 0
