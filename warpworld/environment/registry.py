"""Environments by name: those that come with warpworld, those that are registered, and those that a path names."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from warpworld.environment.declarations import check_identifier
from warpworld.environment.environment import Environment
from warpworld.errors import DeclarationError, suggest
from warpworld.importing import class_in_file, import_named, split_file
from warpworld.packaged import ENVIRONMENTS, EXTERNAL

# name -> class, or the module that registers it when imported
_registry: dict[str, type[Environment] | str] = {**ENVIRONMENTS, **EXTERNAL}


def register(name: str) -> Callable[[type[Environment]], type[Environment]]:
    """Class decorator: make an Environment known as ``name``, instead of an earlier one of that name.

    Raises:
        DeclarationError: the name is not an identifier or one of warpworld's own, or the class is not an Environment.
    """
    check_identifier("environment", name)

    def decorate(cls: type[Environment]) -> type[Environment]:
        if not (isinstance(cls, type) and issubclass(cls, Environment)):
            raise DeclarationError(f"@register('{name}') on {cls!r}, expected a subclass of warpworld.Environment")
        packaged = {**ENVIRONMENTS, **EXTERNAL}.get(name)
        if packaged is not None and cls.__module__ != packaged:
            raise DeclarationError(f"environment '{name}' comes with warpworld ({packaged}); choose another name")
        cls.name = name
        _registry[name] = cls
        return cls

    return decorate


def environment_names() -> list[str]:
    """Return all registered names, sorted."""
    return sorted(_registry)


def get_environment(name: str) -> type[Environment]:
    """The Environment registered as ``name``, or named as ``module:Class``, ``path/to/file.py:Class`` or a file alone.

    Raises:
        DeclarationError: nothing of that name; the nearest one is suggested.
    """
    if not isinstance(name, str):
        raise DeclarationError(f"environment {name!r}: expected a registered name, 'module:Class' or 'file.py:Class'")
    # a class in a file
    path, class_name = split_file(name)
    if path:
        try:
            return class_in_file(path, class_name, Environment)
        except ImportError as error:
            raise DeclarationError(str(error)) from error
    # a class in a module
    if ":" in name:
        try:
            found = import_named(name)
        except ImportError as error:
            raise DeclarationError(f"environment '{name}' cannot be imported: {error}") from error
        if not (isinstance(found, type) and issubclass(found, Environment)):
            raise DeclarationError(f"environment '{name}' is not a subclass of warpworld.Environment")
        return found
    # a registered name
    entry = _registry.get(name)
    if entry is None:
        near = _hint_at_file(name) or suggest(name, _registry)
        known = f" Known: {', '.join(environment_names())}"
        raise DeclarationError(f"unknown environment '{name}'." + (f"{near} All: warpworld list" if near else known))
    # a packaged environment, imported when it is first named
    if isinstance(entry, str):
        importlib.import_module(entry)
        entry = _registry[name]
    if isinstance(entry, str):
        raise DeclarationError(f"module {entry} was imported but does not register '{name}'")
    return entry


def _hint_at_file(name: str) -> str:
    """Hint at a Python file, if ``name`` is a kernel file, a config or a folder that has one beside it."""
    path = Path(name)
    if not path.name:
        return ""
    for file in (path.with_suffix(".py"), path / f"{path.name}.py"):
        if file.is_file():
            return f" An environment is named by its Python file: {file}."
    return ""
