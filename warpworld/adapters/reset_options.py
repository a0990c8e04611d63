"""What ``reset(options=...)`` may say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from warpworld.errors import DeclarationError, suggest

OPTIONS = ("reset_mask",)


def check_options(options: Mapping[str, Any] | None, known: Collection[str]) -> None:
    """Refuse an option that there is none of.

    Raises:
        DeclarationError: names it, and the nearest one.
    """
    for name in options or ():
        if name not in known:
            names = ", ".join(known) or "none"
            raise DeclarationError(f"options: no {name!r}.{suggest(str(name), known)} Known: {names}")


def reset_mask(options: Mapping[str, Any] | None, num_envs: int, per_env: int = 1) -> np.ndarray | None:
    """Which envs of a world are to be reset.

    Args:
        options: of ``reset``; "reset_mask" is (num_envs * per_env,) bool.
        num_envs: envs of the world.
        per_env: entries of the batch that an env has.

    Returns:
        (num_envs,) bool, or None for all of them.

    Raises:
        DeclarationError: there is no such option.
        TypeError: the mask is no array of bool, as Gymnasium's own vector environments say it.
        ValueError: it has another shape, chooses no env, or a part of an env.
    """
    check_options(options, OPTIONS)
    mask = (options or {}).get("reset_mask")
    if mask is None:
        return None
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        given = mask.dtype if isinstance(mask, np.ndarray) else type(mask).__name__
        raise TypeError(f"reset_mask: {given}, expected bool")
    if mask.shape != (num_envs * per_env,):
        raise ValueError(f"reset_mask: shape {mask.shape}, expected ({num_envs * per_env},)")
    of_envs = mask.reshape(num_envs, per_env)
    if not mask.any():
        raise ValueError("reset_mask: chooses no env")
    parts = of_envs.any(1) & ~of_envs.all(1)
    if parts.any():
        raise ValueError(f"reset_mask: chooses some agents of env {parts.argmax()}; an env is reset as a whole")
    return of_envs[:, 0].copy()
