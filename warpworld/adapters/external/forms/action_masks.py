"""Masks of actions, as libraries hand them over."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, MultiBinary, MultiDiscrete, Space, Tuple

from warpworld.adapters.external.forms.action_form import MOST_COMBINATIONS, ActionForm
from warpworld.adapters.external.results import are_flags
from warpworld.errors import DeclarationError

MASK_KEYS = ("action_mask", "legal_action_mask")


def mask_in(infos: Any) -> str | None:
    """The key of a mask in an agent's or a vector environment's infos; None if there is none."""
    if not isinstance(infos, Mapping):
        return None
    return next((key for key in MASK_KEYS if infos.get(key) is not None), None)


def late_mask(where: str) -> DeclarationError:
    """An error for a mask that comes with steps only, since a store must know of it before the first."""
    return DeclarationError(f"{where} has an action mask in step(), but had none in reset(); return it there too")


def size_of_space(mask: Space) -> int:
    """Truth values in masks of a space; 0 if it holds something else."""
    if isinstance(mask, (Dict, Tuple)):
        parts = mask.spaces.values() if isinstance(mask, Dict) else mask.spaces
        sizes = [size_of_space(part) for part in parts]
        return sum(sizes) if all(sizes) else 0
    return math.prod(mask.shape or ()) if isinstance(mask, (Box, MultiBinary, MultiDiscrete)) else 0


def form_for(given: Any, action: ActionForm) -> ActionForm:
    """The form of actions that one agent's mask allows; the same form if the mask does not ask for another."""
    size = sum(np.size(part) for part in _parts(given, None))
    return action.masked(size) or action


def mask_row(given: Any, action: ActionForm, where: str) -> np.ndarray:
    """Mask of one agent: (choices of the stored action,) bool, False for choices that are forbidden.

    Args:
        given: 0 and 1, or truth values, in any shape: one for each choice of each part of an action, in their order;
            or one for each combination, if the form is joint. Also a tuple, list or dict of such, one for each part,
            None for a part that is free; or for a MultiBinary space Gymnasium's form, a number for each flag.
        action: the form of actions.
        where: library, environment, agent and key, for messages.

    Raises:
        DeclarationError: it is something else.
    """
    expected = action.num_choices
    try:
        row = np.concatenate([np.asarray(part).ravel() for part in _parts(given, action.space)])
    except (TypeError, ValueError, KeyError):
        row = np.empty(0, object)
    if row.dtype.kind not in "biuf" or row.size != expected or not are_flags(row):
        what = f"is {repr(given)[:80]}"
        if row.dtype.kind in "biuf" and row.size == expected:
            what = f"has {row[(row != 0) & (row != 1)][0]}"
        elif isinstance(given, np.ndarray):
            what = f"is {row.dtype} of shape {given.shape}"
        joint = f", or for one of at most {MOST_COMBINATIONS:,} combinations" if len(action.counts) > 1 else ""
        raise DeclarationError(
            f"{where} {what}, expected {expected} truth values, one for each choice of {action.space}{joint}"
        )
    return row != 0


def _parts(given: Any, action: Space | None) -> list[Any]:
    """Arrays of a mask, in the order of an action's parts; in the mask's own order without a space."""
    if isinstance(given, Mapping):
        keys = list(action.spaces) if isinstance(action, Dict) else list(given)
        if set(keys) != set(given):
            raise KeyError(keys)
        inner = action.spaces if isinstance(action, Dict) else {}
        return [array for key in keys for array in _parts(given[key], inner.get(key))]
    if isinstance(given, (tuple, list)) and any(
        isinstance(part, (tuple, list, Mapping, np.ndarray)) or part is None for part in given
    ):
        spaces = action.spaces if isinstance(action, Tuple) else [None] * len(given)
        return [array for part, space in zip(given, spaces, strict=True) for array in _parts(part, space)]
    if given is None and action is not None:
        return [np.ones(ActionForm(action, "").num_choices, np.bool_)]
    row = np.asarray(given)
    if isinstance(action, MultiBinary) and row.dtype.kind in "biuf" and row.size == math.prod(action.shape):
        row = np.stack([row.ravel() != 1, row.ravel() != 0], -1)  # 0 or 1 is the value, 2 stands for both
    return [row]
