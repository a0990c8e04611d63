"""Libraries by name, and how envs of theirs are opened."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from warpworld.adapters.external.calls import Envs, environments_module, imported, making
from warpworld.errors import DeclarationError, suggest
from warpworld.importing import import_named

# Opens ``num_envs`` envs; those of a library that settles seeds at making take ``seed``.
Opener = Callable[[str, Mapping[str, Any], int, int], Envs]


def get_opener(library: str) -> Opener:
    """Return the function that opens a library's envs.

    Args:
        library: "gymnasium", "envpool", "ale", "pettingzoo", or ``module:function`` of a function that takes num_envs
            and options, and returns a ``gymnasium.vector.VectorEnv``.

    Raises:
        DeclarationError: there is no such library or function; the nearest is named.
    """
    if library in LIBRARIES:
        return LIBRARIES[library]
    if ":" not in library:
        raise DeclarationError(
            f"external: library='{library}', expected one of {', '.join(LIBRARIES)}, or module:function."
            f"{suggest(library, LIBRARIES)}"
        )
    try:
        make = import_named(library)
    except ImportError as error:
        raise DeclarationError(f"external: library '{library}' cannot be imported: {error}") from error
    return lambda _, options, num_envs, __: _of_function(library, make, options, num_envs)


def _of_function(library: str, make: Any, options: Mapping[str, Any], num_envs: int) -> Envs:
    from gymnasium.vector import VectorEnv

    from warpworld.adapters.external.calls import checked_envs
    from warpworld.adapters.external.vector_envs import AGENT, of_mode

    where = f"external: {library}"
    with making(where):
        with checked_envs(where, AGENT):
            envs = make(num_envs, **options)
        if not isinstance(envs, VectorEnv):
            raise DeclarationError(
                f"external: {library} returned {type(envs).__name__}, expected a gymnasium VectorEnv"
            )
        if envs.num_envs != num_envs:
            raise DeclarationError(f"external: {library} returned {envs.num_envs} envs, expected num_envs={num_envs}")
        return of_mode(envs, where)


def _gymnasium(name: str, options: Mapping[str, Any], num_envs: int, seed: int) -> Envs:
    import gymnasium
    from gymnasium.vector import AutoresetMode

    from warpworld.adapters.external.calls import checked_envs
    from warpworld.adapters.external.vector_envs import AGENT, of_mode

    # options, with those that this package adds
    own, where = {"vectorization_mode": "sync", **options}, f"external: gymnasium '{name}'"
    if "vectorization_mode" not in options and _has_vector_entry_point_only(name):
        own["vectorization_mode"] = "vector_entry_point"
    kwargs: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}
    if own["vectorization_mode"] == "vector_entry_point":
        kwargs = {}  # the environment's own, in whatever mode
    # the environments, by their autoreset mode
    with making(where):
        try:
            with checked_envs(where, AGENT):
                envs = gymnasium.make_vec(name, num_envs, vector_kwargs=kwargs, **own)
        except (gymnasium.error.UnregisteredEnv, gymnasium.error.NamespaceNotFound) as error:
            raise _unknown("gymnasium", name, gymnasium.registry) from error
        return of_mode(envs, where)


def _has_vector_entry_point_only(name: str) -> bool:
    import gymnasium

    spec = gymnasium.registry.get(name)
    return spec is not None and spec.entry_point is None and spec.vector_entry_point is not None


def _envpool(name: str, options: Mapping[str, Any], num_envs: int, seed: int) -> Envs:
    envpool, where = imported("envpool", "envpool", "envpool"), f"external: envpool '{name}'"
    from warpworld.adapters.external.player_pools import PlayerPools
    from warpworld.adapters.external.pool_envs import PoolEnvs

    if name not in envpool.list_all_envs():
        raise _unknown("envpool", name, envpool.list_all_envs())
    with making(where):
        pool = envpool.make(name, env_type="gymnasium", num_envs=num_envs, seed=seed, **options)
        several = pool.config["max_num_players"] > 1
        return PlayerPools(pool, num_envs, where) if several else PoolEnvs(pool, num_envs, where)


def _ale(name: str, options: Mapping[str, Any], num_envs: int, seed: int) -> Envs:
    module = imported("ale", "ale_py.vector_env", "ale-py")
    roms = importlib.import_module("ale_py.roms").get_all_rom_ids()
    from gymnasium.vector import AutoresetMode

    from warpworld.adapters.external.vector_envs import of_mode

    if name not in roms:
        raise _unknown("ale", name, roms)
    where = f"external: ale '{name}'"
    with making(where):
        envs = of_mode(module.AtariVectorEnv(name, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options), where)
        envs.stateless = "ALE's vector environment gives no state of a game; those of `name: atari` have states"
        return envs


def _pettingzoo(name: str, options: Mapping[str, Any], num_envs: int, seed: int) -> Envs:
    imported("pettingzoo", "pettingzoo", "pettingzoo")
    from warpworld.adapters.external.parallel_envs import ParallelEnvs
    from warpworld.adapters.external.turn_envs import TurnEnvs

    module, where = environments_module(name), f"external: pettingzoo '{name}'"
    if hasattr(module, "parallel_env"):
        with making(where):
            return ParallelEnvs(lambda: module.parallel_env(**options), num_envs, where)
    if hasattr(module, "env"):
        with making(where):
            return TurnEnvs(lambda: module.env(**options), num_envs, where)
    raise DeclarationError(
        f"external: id='{name}' is not the module of a PettingZoo environment, such as mpe2.simple_spread_v3: it has "
        "neither parallel_env nor env"
    )


def _unknown(library: str, name: str, names: Any) -> DeclarationError:
    return DeclarationError(f"external: {library} has no environment '{name}'.{suggest(name, names)}")


LIBRARIES: dict[str, Opener] = {"gymnasium": _gymnasium, "envpool": _envpool, "ale": _ale, "pettingzoo": _pettingzoo}
