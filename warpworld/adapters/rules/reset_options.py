"""Checks ``reset(options=...)``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.errors import DeclarationError, suggest
from warpworld.world import World

if TYPE_CHECKING:
    import torch


def set_options(world: World, options: Mapping[str, Any] | None, per_env: int = 1) -> torch.Tensor | None:
    """Carry out the options of a reset: set parameters of the envs that are reset, and say which those are.

    Args:
        world: a sealed world.
        options: of ``reset``; "reset_mask" is (num_envs * per_env,) bool, and parameters of the environment in its
            ``per_env`` are one number, or one for each env.
        per_env: entries of the batch that an env has.

    Returns:
        (num_envs,) bool, or None for all of them.

    Raises:
        DeclarationError: there is no such option.
        TypeError: the mask is no array of bool, as Gymnasium's own vector environments say it.
        ValueError: it has another shape, chooses no env, or a part of an env.
        StoreError: the value of a parameter is wrong.
    """
    if not options:
        return None
    check_names(options, ("reset_mask", *world.environment.per_env))
    mask = options.get("reset_mask")
    active = None if mask is None else _tensor(_of_envs(mask, world.num_envs, per_env))
    params = {name: value for name, value in options.items() if name != "reset_mask"}
    if params:
        world.set_params(active, **params)
    return active


def check_names(options: Iterable[str], known: Collection[str]) -> None:
    """Refuse an option that there is none of.

    Raises:
        DeclarationError: names it, and the nearest one.
    """
    for name in options:
        if name not in known:
            hint = suggest(str(name), known) or f" Known: {', '.join(known) or 'none'}"
            raise DeclarationError(f"options: no {name!r}.{hint}")


def _of_envs(mask: Any, num_envs: int, per_env: int) -> np.ndarray:
    """A mask of the entries of a batch as one of envs."""
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        given = mask.dtype if isinstance(mask, np.ndarray) else type(mask).__name__
        raise TypeError(f"reset_mask: {given}, expected bool")
    if mask.shape != (num_envs * per_env,):
        raise ValueError(f"reset_mask: shape {mask.shape}, expected ({num_envs * per_env},)")
    if not mask.any():
        raise ValueError("reset_mask: chooses no env")
    of_envs = mask.reshape(num_envs, per_env)
    parts = of_envs.any(1) & ~of_envs.all(1)
    if parts.any():
        raise ValueError(f"reset_mask: chooses some agents of env {parts.argmax()}; an env is reset as a whole")
    return of_envs[:, 0]


def _tensor(mask: np.ndarray) -> torch.Tensor:
    import torch

    return torch.from_numpy(np.ascontiguousarray(mask))
