"""Masks of actions, as a caller of ``Policy.act`` has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import MultiBinary, Space
from torch import Tensor

from warpworld.environment import at_path, choice_heads, is_nested, leaves
from warpworld.errors import StoreError


def mask_rows(given: Any, space: Space, lead: tuple[int, ...]) -> Tensor:
    """A mask in rows: (n, choices of all heads) bool, False for choices that are forbidden.

    Args:
        given: (*lead, choices of all heads), truth values or whole numbers; or in the form that Gymnasium's
            ``space.sample(mask)`` takes: a tuple for a MultiDiscrete space, values for a MultiBinary one, and for a
            Dict or Tuple one for each part, None where all choices are allowed or there are none.
        space: of the actions.
        lead: the caller's own axes; empty for one agent.

    Raises:
        StoreError: it has another shape or dtype.
    """
    expected = (*lead, sum(choice_heads(space)))
    if is_nested(space) and isinstance(given, (Mapping, tuple)):
        return _rows_of_parts(given, space, lead)
    mask = _tensor(given)
    is_whole = not (mask.dtype.is_floating_point or mask.dtype.is_complex)
    if isinstance(space, MultiBinary) and is_whole and tuple(mask.shape) == (*lead, *space.shape):
        mask = torch.stack([mask != 1, mask != 0], -1).reshape(expected)  # 2 stands for both
    if not is_whole or tuple(mask.shape) != expected:
        what = f"{str(mask.dtype).removeprefix('torch.')} of shape {tuple(mask.shape)}"
        raise StoreError(f"action_mask: {what}, expected bool of shape {expected}")
    return mask.reshape(-1, expected[-1]) != 0


def _rows_of_parts(given: Any, space: Space, lead: tuple[int, ...]) -> Tensor:
    """A mask in rows, from one for each part of a Dict or Tuple; None allows all choices of a part."""
    rows, agents = [], math.prod(lead)
    for path, leaf in leaves(space):
        choices = sum(choice_heads(leaf))
        try:
            own = at_path(given, path)
        except (KeyError, IndexError, TypeError) as error:
            place = "".join(f"[{step!r}]" for step in path)
            raise StoreError(f"action_mask: no {place}, expected one for each part of {space}") from error
        if choices:
            rows.append(torch.ones(agents, choices, dtype=torch.bool) if own is None else mask_rows(own, leaf, lead))
    return torch.cat(rows, -1)


def _tensor(given: Any) -> Tensor:
    if isinstance(given, Tensor):
        return given
    if isinstance(given, tuple):
        return torch.cat([_tensor(part) for part in given], -1)
    try:
        return torch.from_numpy(np.array(given))
    except (TypeError, ValueError) as error:
        raise StoreError(f"action_mask: {type(given).__name__}, expected an array of bool") from error
