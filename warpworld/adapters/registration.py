"""Gymnasium's ids of warpworld's environments: ``gymnasium.make("warpworld/cartpole")`` and ``make_vec``.

Importing warpworld registers them, as soon as Gymnasium is imported too. Where only Gymnasium is imported,
"warpworld:warpworld/cartpole" names the module as well.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import gymnasium

from warpworld.packaged import packaged_names

NAMESPACE = "warpworld"
LIMIT = "episode_length"  # the parameter that cuts episodes


def register_all() -> None:
    """Register every environment that comes with warpworld."""
    for name in packaged_names():
        register_id(name)


def register_id(name: str) -> None:
    """Register an environment as "warpworld/NAME", instead of an earlier one of that name.

    Args:
        name: its registered name.
    """
    here, key = __name__, f"{NAMESPACE}/{name}"
    gymnasium.registry.pop(key, None)
    gymnasium.register(
        key, entry_point=f"{here}:make_env", vector_entry_point=f"{here}:make_vector_env", kwargs={"name": name}
    )


def make_env(name: str, **options: Any) -> Any:
    """An Env of one world of this name; ``options`` as of ``warpworld.make``."""
    from warpworld.adapters.making import make  # this module is loaded with Gymnasium, before all else of warpworld

    return make(name, 1, api="single", **options)


def make_vector_env(name: str, num_envs: int = 1, max_episode_steps: int | None = None, **options: Any) -> Any:
    """A VectorEnv of a world of this name.

    Args:
        name: of the environment.
        num_envs: envs.
        max_episode_steps: its parameter ``episode_length``; None for the default.
        options: as of ``warpworld.make``.

    Raises:
        DeclarationError: the environment has no such parameter.
    """
    from warpworld.adapters.making import make

    if max_episode_steps is not None:
        _check_limit(name)
        options[LIMIT] = max_episode_steps
    return make(name, num_envs, api="gymnasium", **options)


def _check_limit(name: str) -> None:
    from warpworld.environment import get_environment
    from warpworld.errors import DeclarationError

    known = [field.name for field in fields(get_environment(name).Params)]
    if LIMIT not in known:
        raise DeclarationError(
            f"{name}: make_vec(max_episode_steps=...) sets the parameter '{LIMIT}', which this environment lacks; "
            "leave it out" + (f", or set one of {', '.join(known)}" if known else "")
        )
