"""Algorithms, models, loggers and the recorder, imported by their names: they stand above, and read configs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from warpworld.errors import ConfigError, suggest
from warpworld.importing import import_named
from warpworld.packaged import ALGORITHM, ALGORITHMS, LOGGER, LOGGERS, MODELS, RECORDER

STATE = "initial_state"  # method by which a model of one's own declares a state
# Methods of a logger that a run calls, with what it passes.
_OF_LOGGERS = {
    "log": ("metrics",),
    "show": ("picture", "iteration", "env_steps"),
    "rewind": ("iteration", "env_steps"),
    "sync": (),
    "close": (),
}


def algorithm_class(name: str) -> Any:
    """The algorithm of that name, or the class that ``module:Class`` names.

    Returns:
        A subclass of ``warpworld.trainers.algorithms.Algorithm``, of which configs read ``Settings``, a subclass of
        LearnerConfig, and ``needs_critic``, a bool.

    Raises:
        ConfigError: there is none, or it is no algorithm.
    """
    found = _imported("algorithm", name, ALGORITHMS, also=("random", "script"))
    if not (isinstance(found, type) and issubclass(found, import_named(ALGORITHM))):
        raise ConfigError(f"algorithm '{name}' is not a subclass of warpworld.trainers.algorithms.Algorithm")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise ConfigError(f"algorithm '{name}' has no {' and no '.join(missing)}; see warpworld.trainers.algorithms")
    if not hasattr(found, "Settings"):
        raise ConfigError(f"algorithm '{name}' has no Settings, expected a subclass of warpworld.config.LearnerConfig")
    return found


def algorithms_with(ability: str) -> list[str]:
    """Names of the packaged algorithms of which an attribute is true, such as ``learns_from_share``."""
    return [name for name in ALGORITHMS if getattr(algorithm_class(name), ability)]


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
    found = _imported("model", name, MODELS, key="model type")
    if name in MODELS:
        return found
    from torch import nn

    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        raise ConfigError(f"model '{name}' is not a torch.nn.Module")
    if hasattr(found, STATE):
        if not callable(getattr(found, STATE)) or found.forward is nn.Module.forward:
            raise ConfigError(
                f"model '{name}' has {STATE}, but not both {STATE}() and forward(observations, state); "
                "see warpworld.policies.ModelWithState"
            )
        return found
    needed = ("actor", "critic") if needs_critic else ("actor",)
    missing = [method for method in needed if not callable(getattr(found, method, None))]
    if missing:
        raise ConfigError(
            f"model '{name}' has no {' and no '.join(missing)}(observations); see warpworld.policies.Model"
        )
    return found


def declares_state(name: str) -> bool:
    """Whether a model is one of a user's own that declares a state: a memory that it keeps itself.

    Raises:
        ConfigError: it cannot be imported.
    """
    return ":" in name and hasattr(_imported("model", name, MODELS), STATE)


def logger_class(name: str) -> Any:
    """The logger of that name, or the class that ``module:Class`` names.

    Returns:
        A subclass of ``warpworld.runs.loggers.Logger``, whose methods take what a run passes.

    Raises:
        ConfigError: there is none, or it is no logger.
    """
    found = _imported("logger", name, LOGGERS)
    if not (isinstance(found, type) and issubclass(found, import_named(LOGGER))):
        raise ConfigError(f"logger '{name}' is not a subclass of warpworld.runs.loggers.Logger")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise ConfigError(f"logger '{name}' has no {' and no '.join(missing)}; see warpworld.runs.loggers.Logger")
    _check_calls(name, found)
    return found


def recorder() -> Any:
    """The function that draws replays while a run trains, ``warpworld.report.while_training.record_policies``."""
    return import_named(RECORDER)


def _imported(kind: str, name: str, table: Mapping[str, str], also: Sequence[str] = (), key: str = "") -> Any:
    """The class or object that a name of a table, or ``module:Class``, stands for.

    Args:
        kind: what is named, for messages.
        name: as the config has it.
        table: classes as ``module:Class``, by name.
        also: further names that the key may have.
        key: the kind where a name is unknown; empty for ``kind``.

    Raises:
        ConfigError: the name is unknown, or the class cannot be imported.
    """
    if ":" not in name and name not in table:
        known = (*table, *also)
        raise ConfigError(
            f"{key or kind} {name!r}, expected one of {', '.join(known)}, or module:Class.{suggest(name, known)}"
        )
    try:
        return import_named(table.get(name, name))
    except ImportError as error:
        raise ConfigError(f"{kind} '{name}' cannot be imported: {error}") from error


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
