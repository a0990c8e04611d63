"""How an environment and values of its parameters are named on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from warpworld.errors import ConfigError


def add_environment(parser: argparse.ArgumentParser) -> None:
    """Add the words that name an environment and give its parameters: ``environment`` and ``params``."""
    parser.add_argument(
        "environment", metavar="NAME", help="a registered name, module:Class, or a file: path/to/env.py[:Class]"
    )
    parser.add_argument(
        "params", metavar="key=value", nargs="*", default=[], help="parameters of the environment: num_taggers=3"
    )
    parser.set_defaults(settings="params")


def read_params(words: Sequence[str]) -> dict[str, Any]:
    """``num_taggers=3`` and so on as values by name, read as a config's are.

    Raises:
        ConfigError: a word that is no ``key=value``, or one with a section, as in overrides of a run.
    """
    from warpworld.config.document import Document

    document = Document("the command line", {})
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"parameter '{word}': expected key=value, for instance num_taggers=3")
        if name.startswith("env."):
            raise ConfigError(f"parameter '{word}': expected its name alone: {name.removeprefix('env.')}={value}")
        document.override(word)
    return document.data
