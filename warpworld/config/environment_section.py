"""The ``env`` section: an environment's parameters."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpworld.config.documents import Document, KeyPath, check_encodable
from warpworld.config.run_config import RunConfig
from warpworld.config.settings import RANDOMIZE, checked_params
from warpworld.environment import Environment, Group, get_environment, names_file, placed_groups
from warpworld.errors import ConfigError, DeclarationError
from warpworld.importing import absolute_target


def with_environment(
    config: RunConfig, document: Document, folder: Path
) -> tuple[RunConfig, Environment, dict[str, Group]]:
    """The configuration with its environment's parameters, all filled in; the environment with these; its groups.

    Args:
        config: names the environment, and holds the parameters that were given.
        document: says where errors are.
        folder: files are relative to it, but those that were typed.

    Raises:
        ConfigError: there is no such environment, or it refuses a parameter.
    """
    # the environment, under a name that holds from anywhere
    where = document.where(("name",))
    base = Path() if ("name",) in document.overrides else folder
    config = config.model_copy(update={"name": absolute_target(config.name, base)})
    check_encodable({"name": config.name}, document)
    try:
        cls = get_environment(config.name)
    except (DeclarationError, ValueError) as error:
        raise ConfigError(f"{where}: name: {error}") from error
    # its parameters; whether they make sense together is its own affair
    params = checked_params(cls, _with_absolute_files(cls, config.env, document, folder), document)
    try:
        environment = cls(**params)
        groups = placed_groups(environment)
    except (DeclarationError, ValueError) as error:
        raise ConfigError(f"{document.where(*_named(str(error), params), ('env',))}: env: {error}") from error
    return config.model_copy(update={"env": params}), environment, groups


def _with_absolute_files(
    cls: type[Environment], params: Mapping[str, Any], document: Document, folder: Path
) -> dict[str, Any]:
    """The parameters, with files and folders that hold from anywhere."""
    found = dict(params)
    for name in cls.file_params:
        given = params.get(name)
        if isinstance(given, str) and names_file(given):
            typed = {("env",), ("env", name)} & document.overrides.keys()
            base = Path() if typed else folder
            found[name] = os.path.abspath(base / given)
    return found


def _named(text: str, params: Mapping[str, Any]) -> list[KeyPath]:
    """The parameters that a text names; their ranges first, if it names these."""
    names = [name for name in params if re.search(rf"\b{re.escape(name)}\b", text)]
    given = params.get(RANDOMIZE)
    drawn = given if isinstance(given, dict) else {}
    ranges: list[KeyPath] = [("env", RANDOMIZE, name) for name in drawn if str(name) in text]
    plain: list[KeyPath] = [("env", name) for name in names]
    return [*ranges, ("env", RANDOMIZE), *plain] if RANDOMIZE in names else [*plain, *ranges]
