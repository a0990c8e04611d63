"""Worlds by the names of their environments, or by the configurations of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.environment import Environment, get_environment
from warpworld.errors import DeclarationError
from warpworld.world.world import World

if TYPE_CHECKING:
    from warpworld.config import RunConfig


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
    **params: Any,
) -> World:
    """Make a world of the environment that ``name`` names, or of a run's configuration.

    Where warpworld has a config of that name, the world is that config's game: its ``env`` parameters are the defaults.

    Args:
        name: a registered name, ``module:Class``, or ``path/to/file.py``.
        num_envs: envs to step together; may be left out with ``config``, whose number it then is.
        device: "cpu", "cuda", or "auto" for the best one that works. By default the config's, else "auto".
        seed: of all random numbers; by default the config's, else 0.
        num_workers: threads that step envs on a CPU; None means one per core.
        final_observations: keep what agents saw last in each episode, in ``world["final_observations"]``.
        config: instead of ``name``: a run's YAML file, or the name of a packaged config.
        overrides: of the config's values, such as "env.grid_length=30".
        **params: the environment's Params.

    Raises:
        WarpworldError: of the kinds that World raises; DeclarationError for an unknown name or parameter; ConfigError
            for a configuration that is wrong.
    """
    settings = _settings(name, config, overrides)
    trainer = None if settings is None or config is None else settings.trainer
    if num_envs is None and trainer is None:
        raise DeclarationError("make(): num_envs is missing; say how many envs to step together")
    world = World(
        _environment(name, settings, params),
        num_envs if num_envs is not None or trainer is None else trainer.num_envs,  # type: ignore[arg-type]
        device or (trainer.device if trainer else "auto"),
        seed if seed is not None else (trainer.seed if trainer else 0),
        num_workers if num_workers is not None or trainer is None else trainer.num_workers,
    )
    if final_observations:
        world.request("final_observations")
    return world


def _settings(name: str | None, config: str | Path | None, overrides: Iterable[str]) -> RunConfig | None:
    """The configuration that is asked for, or the packaged one of the environment's name; None if there is none."""
    from warpworld.config import load_config, packaged_configs

    if (name is None) == (config is None):
        raise DeclarationError("make(): give the name of an environment, or config=, and not both")
    if config is not None:
        return load_config(config, overrides)
    if list(overrides):
        raise DeclarationError("make(): overrides are of a config's values; give config=, or parameters by name")
    return load_config(name) if name in packaged_configs() else None


def _environment(name: str | None, settings: RunConfig | None, params: Mapping[str, Any]) -> Environment:
    if settings is None:
        return get_environment(name or "")(**params)
    return get_environment(settings.name)(**{**settings.env, **params})
