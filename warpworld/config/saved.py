"""A run's ``config.yaml`` read without importing the classes that it names: environment, models and so on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from warpworld.config.documents import Document, check_encodable, validated
from warpworld.config.types import Count, Seed, Text
from warpworld.errors import ConfigError
from warpworld.files import read_file, reason
from warpworld.importing import split_file, title_of


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Trainer(_Part):
    num_envs: Count
    total_env_steps: Count
    seed: Seed


class _Config(_Part):
    name: Text
    trainer: _Trainer
    policy: dict[str, dict[str, Any] | None]


@dataclass(frozen=True)
class SavedConfig:
    """The contents of a run's ``config.yaml``, including its defaults; only its outline is checked.

    Attributes:
        path: the file.
        settings: all of it: nested dicts, lists, texts, numbers, truth values and None.
    """

    path: Path
    settings: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Name of the environment for people, without the folders where that is a file."""
        return title_of(self.settings["name"])

    @property
    def policy(self) -> Mapping[str, Mapping[str, Any]]:
        """The entries of the ``policy`` section."""
        return {name: entry or {} for name, entry in self.settings["policy"].items()}

    @property
    def trainer(self) -> Mapping[str, Any]:
        """The ``trainer`` section."""
        section: Mapping[str, Any] = self.settings["trainer"]
        return section


def has_outline(settings: Any) -> bool:
    """Whether values have the outline that is checked of a ``config.yaml``."""
    try:
        _Config.model_validate(settings)
    except ValidationError:
        return False
    return True


def read_saved(path: Path) -> SavedConfig:
    """Read a run's ``config.yaml``.

    Raises:
        ConfigError: it cannot be read, or is no configuration of a run.
    """
    document = _document(path)
    check_encodable(document.data, document)
    validated(TypeAdapter(_Config), document.data, document, (), lambda section: {})
    return SavedConfig(path, document.data)


def foreign_code(path: Path) -> list[str]:
    """Files and modules outside warpworld that loading a run's ``config.yaml`` imports; none is imported here.

    Raises:
        ConfigError: the file cannot be read, or is no YAML; whatever else is wrong is left to its loading.
    """
    names = [name for name in _imported(_document(path).data) if not _is_packaged(name)]
    return list(dict.fromkeys(_described(name, path.parent) for name in names))


def _document(path: Path) -> Document:
    try:
        return Document.parse(read_file(path), str(path))
    except OSError as error:
        raise ConfigError(f"config '{path}' cannot be read: {reason(error)}") from error


def _imported(settings: Mapping[str, Any]) -> Iterator[str]:
    """Classes that settings name: the environment; algorithms, models and loggers where they name a module."""
    name = settings.get("name")
    if isinstance(name, str) and (":" in name or split_file(name)[0]):
        yield name
    policies = settings.get("policy")
    for entry in policies.values() if isinstance(policies, dict) else ():
        if isinstance(entry, dict):
            model = entry.get("model")
            for named in (entry.get("algorithm"), model.get("type") if isinstance(model, dict) else None):
                if isinstance(named, str) and ":" in named:
                    yield named
    saving = settings.get("saving")
    loggers = saving.get("loggers") if isinstance(saving, dict) else None
    for named in loggers if isinstance(loggers, list) else ():
        if isinstance(named, str) and ":" in named:
            yield named


def _is_packaged(name: str) -> bool:
    return not split_file(name)[0] and name.partition(":")[0].partition(".")[0] == "warpworld"


def _described(name: str, folder: Path) -> str:
    path, _ = split_file(name)
    if path:
        return os.path.abspath(folder / path)
    module = name.partition(":")[0]
    file = _file_of(module)
    return f"module {module}" + (f" ({file})" if file else "")


def _file_of(module: str) -> str | None:
    """The file of a module, looked for by hand: Python finds one in a package by importing the package."""
    first, *inner = module.split(".")
    found = PathFinder.find_spec(first)
    if not inner:
        return found.origin if found is not None else None
    places = [Path(place, *inner) for place in (found and found.submodule_search_locations) or ()]
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()]
    return str(files[0]) if files else None
