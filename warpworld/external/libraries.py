"""Libraries by name, and how envs of theirs are opened."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from warpworld.errors import DeclarationError, said, suggest
from warpworld.external.envs import Envs
from warpworld.importing import import_named

# Opens ``num_envs`` envs; those of a library that settles seeds at making take ``seed``.
Opener = Callable[[str, Mapping[str, Any], int, int], Envs]


def get_opener(library: str) -> Opener:
    """How envs of a library are opened.

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


def _imported(package: str, module: str, install: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        raise DeclarationError(
            f"external: library '{package}' needs {missing}, which is not installed: pip install {install}"
        ) from error


def _of_function(library: str, make: Any, options: Mapping[str, Any], num_envs: int) -> Envs:
    from gymnasium.vector import VectorEnv

    from warpworld.external.vector_envs import of_mode

    envs = make(num_envs, **options)
    if not isinstance(envs, VectorEnv):
        raise DeclarationError(f"external: {library} returned {type(envs).__name__}, expected a gymnasium VectorEnv")
    return of_mode(envs)


def _gymnasium(name: str, options: Mapping[str, Any], num_envs: int, seed: int) -> Envs:
    import gymnasium
    from gymnasium.vector import AutoresetMode

    from warpworld.external.vector_envs import of_mode

    own = {"vectorization_mode": "sync", **options}
    kwargs = {"autoreset_mode": AutoresetMode.SAME_STEP}
    if own["vectorization_mode"] == "vector_entry_point":
        kwargs = {}  # the environment's own, in whatever mode
    try:
        return of_mode(gymnasium.make_vec(name, num_envs, vector_kwargs=kwargs, **own))
    except (gymnasium.error.UnregisteredEnv, gymnasium.error.NamespaceNotFound) as error:
        raise _unknown("gymnasium", name, gymnasium.registry) from error


def _envpool(name: str, options: Mapping[str, Any], num_envs: int, seed: int) -> Envs:
    envpool = _imported("envpool", "envpool", "envpool")
    from warpworld.external.pool_envs import PoolEnvs

    if name not in envpool.list_all_envs():
        raise _unknown("envpool", name, envpool.list_all_envs())
    return PoolEnvs(envpool.make(name, env_type="gymnasium", num_envs=num_envs, seed=seed, **options), num_envs)


def _ale(name: str, options: Mapping[str, Any], num_envs: int, seed: int) -> Envs:
    module = _imported("ale", "ale_py.vector_env", "ale-py")
    roms = importlib.import_module("ale_py.roms").get_all_rom_ids()
    from gymnasium.vector import AutoresetMode

    from warpworld.external.vector_envs import of_mode

    if name not in roms:
        raise _unknown("ale", name, roms)
    return of_mode(module.AtariVectorEnv(name, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options))


def _pettingzoo(name: str, options: Mapping[str, Any], num_envs: int, seed: int) -> Envs:
    _imported("pettingzoo", "pettingzoo", "pettingzoo")
    from warpworld.external.parallel_envs import ParallelEnvs

    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise DeclarationError(
            f"external: id='{name}' is not the module of a PettingZoo environment, such as mpe2.simple_spread_v3: "
            f"{said(error)}"
        ) from error
    return ParallelEnvs(lambda: module.parallel_env(**options), num_envs)


def _unknown(library: str, name: str, names: Any) -> DeclarationError:
    return DeclarationError(f"external: {library} has no environment '{name}'.{suggest(name, names)}")


LIBRARIES: dict[str, Opener] = {"gymnasium": _gymnasium, "envpool": _envpool, "ale": _ale, "pettingzoo": _pettingzoo}
