"""Environments as a command line names them: by a registered name, a module, or a file."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from warpworld.environment import Environment, get_environment
from warpworld.errors import DeclarationError, said, suggest


def find_environment(target: str) -> type[Environment]:
    """The class that ``target`` names.

    Args:
        target: a registered name, ``module:Class``, ``path/to/file.py:Class``, or a file that defines one Environment.

    Raises:
        DeclarationError: there is no such file or class, or it cannot be imported.
    """
    path, _, name = target.rpartition(":") if ".py:" in target else (target, "", "")
    if not path.endswith(".py"):
        return get_environment(target)
    module = _import_file(Path(path))
    classes = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Environment) and value.__module__ == module.__name__
    }
    if name:
        if name not in classes:
            known = ", ".join(classes) or "none"
            raise DeclarationError(f"{path}: no Environment '{name}'.{suggest(name, classes)} Environments: {known}")
        return classes[name]
    if len(classes) != 1:
        found = f"defines {', '.join(classes)}; say which: {path}:{next(iter(classes))}" if classes else "defines none"
        raise DeclarationError(f"{path}: expected a file that defines one Environment, this one {found}")
    return next(iter(classes.values()))


def _import_file(path: Path) -> ModuleType:
    """The module in a file: by its full name if it lies in a package, so that there is no second copy of it."""
    if not path.is_file():
        raise DeclarationError(f"no file '{path}'; expected a Python file that defines an Environment")
    path = path.resolve()
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # for what the file imports from beside it
    try:
        return importlib.import_module(".".join(parts)) if len(parts) > 1 else _import_alone(path)
    except Exception as error:  # the file's own code may raise anything
        raise DeclarationError(f"'{path}' cannot be imported: {said(error)}") from error


def _import_alone(path: Path) -> ModuleType:
    known = sys.modules.get(path.stem)
    if known is not None and Path(getattr(known, "__file__", None) or "").resolve() == path:
        return known
    name = path.stem if known is None else f"{path.stem}_to_check"  # there may be another module of that name
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python source")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
