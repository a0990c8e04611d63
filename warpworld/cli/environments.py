"""Reads the environment and the values of its parameters from the command line."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from warpworld.errors import ConfigError
from warpworld.packaged import packaged_configs

if TYPE_CHECKING:
    from warpworld.environment import Environment

# keys of a config's trainer -> the options of commands that step an environment without a config
_OPTIONS = {"num_envs": "--envs", "num_steps": "--steps", "seed": "--seed", "device": "--device"}


def add_environment(parser: argparse.ArgumentParser, other: str = "") -> None:
    """Add the words that name an environment and give its parameters: ``environment`` and ``params``.

    Args:
        parser: of the command.
        other: other things that may be named, for the help.
    """
    parser.add_argument(
        "environment", metavar="NAME", help="a packaged name or a YAML file, with the parameters of the config; "
        f"module:Class; or a file: path/to/env.py[:Class]{other}"
    )  # fmt: skip
    parser.add_argument(
        "params", metavar="key=value", nargs="*", default=[], help="parameters of the environment: num_taggers=3"
    )
    parser.set_defaults(settings="params")


def made_environment(arguments: argparse.Namespace) -> Environment:
    """The environment that the words name; by a packaged config's name that of the config, as in ``warpworld.make``.

    Raises:
        ConfigError: a parameter is none, but an option of the command.
        DeclarationError: there is no such environment, or it refuses its parameters.
    """
    cls, given = configured(arguments.environment)
    params = read_params(arguments.params)
    known = {field.name for field in dataclasses.fields(cls.Params)}
    for key, value in params.items():
        option = _OPTIONS.get(key) if key not in known else None
        if option is not None and hasattr(arguments, option.removeprefix("--")):
            raise ConfigError(f"'{key}' is no parameter of {cls.name}, expected the option {option} {value}")
    return cls(**{**given, **params})


def configured(name: str) -> tuple[type[Environment], Mapping[str, Any]]:
    """An environment, and the parameters that its config gives it, packaged or a YAML file."""
    from warpworld.config import load_config
    from warpworld.environment import get_environment

    if name not in packaged_configs() and not name.endswith((".yaml", ".yml")):
        return get_environment(name), {}
    config = load_config(name)
    return get_environment(config.name), config.env


def read_params(words: Sequence[str]) -> dict[str, Any]:
    """``num_taggers=3`` or ``env.num_taggers=3`` as values by name, read as a config's are.

    Raises:
        ConfigError: a word that is no ``key=value``.
    """
    from warpworld.config import Document

    document = Document("the command line", {})
    for word in words:
        name, equals, _ = word.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"parameter '{word}': expected key=value, for instance num_taggers=3")
        document.override(word.removeprefix("env.").removeprefix("trainer."))
    return document.data
