"""Algorithms, models and loggers that a config names, imported by those names: they stand above, and read configs."""

from __future__ import annotations

import inspect
from typing import Any

from warpworld.errors import ConfigError, suggest
from warpworld.importing import import_named
from warpworld.packaged import ALGORITHM, ALGORITHMS, LOGGER, LOGGERS, MODELS

# Methods of a logger that a run calls, with what it passes.
_OF_LOGGERS = {"log": ("metrics",), "rewind": ("iteration", "env_steps"), "sync": (), "close": ()}


def algorithm_class(name: str) -> Any:
    """The algorithm of that name, or the class that ``module:Class`` names.

    Returns:
        A subclass of ``warpworld.trainers.algorithms.Algorithm``, of which configs read ``Settings``, a subclass of
        LearnerConfig, and ``needs_critic``, a bool.

    Raises:
        ConfigError: there is none, or it is no algorithm.
    """
    if ":" not in name and name not in ALGORITHMS:
        hint = suggest(name, (*ALGORITHMS, "random"))
        raise ConfigError(
            f"algorithm {name!r}, expected one of {', '.join(ALGORITHMS)}, random, or module:Class.{hint}"
        )
    try:
        found = import_named(ALGORITHMS.get(name, name))
    except ImportError as error:
        raise ConfigError(f"algorithm '{name}' cannot be imported: {error}") from error
    if not (isinstance(found, type) and issubclass(found, import_named(ALGORITHM))):
        raise ConfigError(f"algorithm '{name}' is not a subclass of warpworld.trainers.algorithms.Algorithm")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise ConfigError(f"algorithm '{name}' has no {' and no '.join(missing)}; see warpworld.trainers.algorithms")
    if not hasattr(found, "Settings"):
        raise ConfigError(f"algorithm '{name}' has no Settings, expected a subclass of warpworld.config.LearnerConfig")
    return found


def model_class(name: str, needs_critic: bool = True) -> Any:
    """The model of that name, or the class that ``module:Class`` names.

    Args:
        name: see above.
        needs_critic: whether the policy's algorithm reads values.

    Returns:
        A subclass of ``torch.nn.Module``.

    Raises:
        ConfigError: there is none, or it is no model.
    """
    if ":" not in name:
        if name in MODELS:
            return import_named(MODELS[name])
        hint = suggest(name, MODELS)
        raise ConfigError(f"model type {name!r}, expected one of {', '.join(MODELS)}, or module:Class.{hint}")
    from torch import nn

    try:
        found = import_named(name)
    except ImportError as error:
        raise ConfigError(f"model '{name}' cannot be imported: {error}") from error
    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        raise ConfigError(f"model '{name}' is not a torch.nn.Module")
    needed = ("actor", "critic") if needs_critic else ("actor",)
    missing = [method for method in needed if not callable(getattr(found, method, None))]
    if missing:
        raise ConfigError(
            f"model '{name}' has no {' and no '.join(missing)}(observations); see warpworld.policies.Model"
        )
    return found


def logger_class(name: str) -> Any:
    """The logger of that name, or the class that ``module:Class`` names.

    Returns:
        A subclass of ``warpworld.runs.loggers.Logger``, whose methods take what a run passes.

    Raises:
        ConfigError: there is none, or it is no logger.
    """
    if ":" not in name and name not in LOGGERS:
        hint = suggest(name, LOGGERS)
        raise ConfigError(f"logger {name!r}, expected one of {', '.join(LOGGERS)}, or module:Class.{hint}")
    try:
        found = import_named(LOGGERS.get(name, name))
    except ImportError as error:
        raise ConfigError(f"logger '{name}' cannot be imported: {error}") from error
    if not (isinstance(found, type) and issubclass(found, import_named(LOGGER))):
        raise ConfigError(f"logger '{name}' is not a subclass of warpworld.runs.loggers.Logger")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise ConfigError(f"logger '{name}' has no {' and no '.join(missing)}; see warpworld.runs.loggers.Logger")
    _check_calls(name, found)
    return found


def _check_calls(name: str, cls: type) -> None:
    """Refuse a logger whose constructor or methods cannot be called as a run calls them."""
    calls = {"__init__": ("folder", "config"), **_OF_LOGGERS}
    for method, passed in calls.items():
        made = getattr(cls, method)
        wanted = f"{method}({', '.join(passed)})"
        if not callable(made):
            raise ConfigError(f"logger '{name}': {method} is {made!r}, expected a method {wanted}")
        try:
            inspect.signature(made).bind("self", *passed)
        except TypeError as error:
            raise ConfigError(f"logger '{name}': {method} cannot be called as {wanted}: {error}") from error
