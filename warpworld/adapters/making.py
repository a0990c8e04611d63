"""Worlds by the names of their environments, or by the configurations of runs; and what speaks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from warpworld.adapters.rules import Protocol, protocol_of
from warpworld.environment import Environment, get_environment
from warpworld.errors import DeclarationError
from warpworld.managers import Autoreset
from warpworld.world import World

if TYPE_CHECKING:
    from warpworld.adapters.dm import DmEnv
    from warpworld.adapters.old_gym import Gym21, Gym26
    from warpworld.adapters.parallel import ParallelEnv
    from warpworld.adapters.parallel_vector import ParallelVectorEnv
    from warpworld.adapters.pools import AnyPool
    from warpworld.adapters.sb3 import Sb3VecEnv
    from warpworld.adapters.single import Env
    from warpworld.adapters.vector import VectorEnv
    from warpworld.config import RunConfig, TrainerConfig

_Name: TypeAlias = str | None
_Count: TypeAlias = int | None


@overload
def make(
    name: str | None = None,
    num_envs: int | None = None,
    device: str | None = None,
    seed: int | None = None,
    num_workers: int | None = None,
    final_observations: bool = False,
    *,
    config: str | Path | None = None,
    overrides: Iterable[str] = (),
    api: Literal["world"] = "world",
    autoreset: Autoreset | None = None,
    check_actions: bool | None = None,
    **params: Any,
) -> World: ...
@overload
def make(name: _Name = None, num_envs: _Count = None, *, api: Literal["gymnasium"], **params: Any) -> VectorEnv: ...
@overload
def make(name: _Name = None, num_envs: _Count = None, *, api: Literal["single"], **params: Any) -> Env: ...
@overload
def make(name: _Name = None, num_envs: _Count = None, *, api: Literal["parallel"], **params: Any) -> ParallelEnv: ...
@overload
def make(
    name: _Name = None, num_envs: _Count = None, *, api: Literal["parallel_vector"], **params: Any
) -> ParallelVectorEnv: ...
@overload
def make(name: _Name = None, num_envs: _Count = None, *, api: Literal["dm"], **params: Any) -> DmEnv: ...
@overload
def make(name: _Name = None, num_envs: _Count = None, *, api: Literal["gym"], **params: Any) -> Gym26: ...
@overload
def make(name: _Name = None, num_envs: _Count = None, *, api: Literal["gym21"], **params: Any) -> Gym21: ...
@overload
def make(name: _Name = None, num_envs: _Count = None, *, api: Literal["pool"], **params: Any) -> AnyPool: ...
@overload
def make(name: _Name = None, num_envs: _Count = None, *, api: Literal["sb3"], **params: Any) -> Sb3VecEnv: ...
@overload
def make(
    name: str | None = None,
    num_envs: int | None = None,
    device: str | None = None,
    seed: int | None = None,
    num_workers: int | None = None,
    *,
    api: str,
    **params: Any,
) -> Any: ...


def make(
    name: str | None = None,
    num_envs: int | None = None,
    device: str | None = None,
    seed: int | None = None,
    num_workers: int | None = None,
    final_observations: bool = False,
    *,
    config: str | Path | None = None,
    overrides: Iterable[str] = (),
    api: str = "world",
    autoreset: Autoreset | None = None,
    check_actions: bool | None = None,
    **params: Any,
) -> Any:
    """Make a world of an environment, or of a run's configuration, under any of several interfaces.

    If a packaged config has that name, its ``env`` parameters are the defaults.

    Args:
        name: a registered name, ``module:Class``, or ``path/to/file.py``.
        num_envs: envs to step together; optional with ``config``, which then sets it, and if ``api`` is one env.
        device: "cpu", "cuda", or "auto" for the best one that works; by default the config's or "auto".
        seed: of all random numbers; by default the config's or 0.
        num_workers: threads that step envs on a CPU; None means one per core.
        final_observations: keep each episode's final observations, in ``world["final_observations"]``.
        config: instead of ``name``: a run's YAML file, or the name of a packaged config.
        overrides: of the config's values, such as "env.grid_length=30".
        api: "world" for the World itself, "gymnasium" for a vector environment, or another interface of
            ``warpworld.adapters.rules.protocols``.
        autoreset: when an env whose episode ended is reset, see World; by default what suits ``api``.
        check_actions: whether a step refuses illegal actions; by default for every ``api`` but "world".
        **params: the environment's Params, and options of the interface's class, such as ``render_mode``.

    Returns:
        A World, or an object of the interface that ``api`` names.

    Raises:
        WarpworldError: of the kinds that World raises; DeclarationError for an unknown name, parameter or ``api``, or a
            missing package; ConfigError for a wrong configuration.
    """
    # the interface, and settings of the config
    protocol = protocol_of(api)
    options = {option: params.pop(option) for option in protocol.options() & params.keys()}
    settings = _settings(name, config, overrides)
    trainer = None if settings is None or config is None else settings.trainer
    # the world; arguments come before settings
    world = World(
        _environment(name, settings, params),
        _num_envs(num_envs, protocol, trainer),
        device or (trainer.device if trainer else "auto"),
        seed if seed is not None else (trainer.seed if trainer else 0),
        num_workers if num_workers is not None or trainer is None else trainer.num_workers,
        autoreset=protocol.autoresets[0] if autoreset is None else autoreset,
        check_actions=api != "world" if check_actions is None else check_actions,
    )
    # the interface to it
    if final_observations:
        world.request("final_observations")
    return protocol.spoken_by(world, **options)


def _num_envs(given: int | None, protocol: Protocol, trainer: TrainerConfig | None) -> int:
    if given is not None:
        return given
    if trainer is None and not protocol.one_env:
        raise DeclarationError("make(): num_envs is missing; pass the number of envs to step together")
    return 1 if trainer is None or protocol.one_env else trainer.num_envs


def _settings(name: str | None, config: str | Path | None, overrides: Iterable[str]) -> RunConfig | None:
    """The configuration that is asked for, or the packaged one of the environment's name; None if there is none."""
    from warpworld.config import load_config, packaged_configs

    if (name is None) == (config is None):
        raise DeclarationError("make(): pass the name of an environment or config=, not both")
    if config is not None:
        return load_config(config, overrides)
    if list(overrides):
        raise DeclarationError("make(): overrides change a config's values; pass config=, or parameters by name")
    return load_config(name) if name in packaged_configs() else None


def _environment(name: str | None, settings: RunConfig | None, params: Mapping[str, Any]) -> Environment:
    if settings is None:
        return get_environment(name or "")(**params)
    return get_environment(settings.name)(**{**settings.env, **params})
