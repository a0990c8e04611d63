"""Gymnasium's ids of warpworld's environments: ``gymnasium.make("warpworld/cartpole")`` and ``make_vec``.

Importing warpworld registers them, as soon as Gymnasium is imported too. Where only Gymnasium is imported,
"warpworld:warpworld/cartpole" names the module as well.
"""

from __future__ import annotations

from typing import Any

import gymnasium

from warpworld.packaged import packaged_names

NAMESPACE = "warpworld"


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


def make_vector_env(name: str, num_envs: int = 1, **options: Any) -> Any:
    """A VectorEnv of a world of this name; ``options`` as of ``warpworld.make``."""
    from warpworld.adapters.making import make

    return make(name, num_envs, api="gymnasium", **options)
