"""Classes that users name, as ``module:Class`` or as a file."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from warpworld.errors import said, suggest

Base = TypeVar("Base")


def import_named(name: str) -> Any:
    """Import the object that ``module:Class`` names.

    Raises:
        ImportError: it cannot be had, for whatever reason: the module's own code may raise anything.
    """
    module, _, attribute = name.partition(":")
    if module.startswith("."):
        raise ImportError(f"'{module}' is relative, expected the module's full name")
    try:
        found = importlib.import_module(module)
        if not hasattr(found, attribute):
            hint = suggest(attribute, vars(found))
            raise ImportError(f"module '{module}' has no attribute '{attribute}'{'.' if hint else ''}{hint}")
        return getattr(found, attribute)
    except (Exception, SystemExit) as error:
        raise ImportError(said(error)) from error


def split_file(target: str) -> tuple[str, str]:
    """``path/to/file.py:Class`` or ``path/to/file.py`` as (path, class name or ""); ("", "") where it names no file."""
    path, _, name = target.rpartition(":") if ".py:" in target else (target, "", "")
    return (path, name) if path.endswith(".py") else ("", "")


def title_of(target: str) -> str:
    """A target without the folders that its file lies in: ``walk`` or ``walk:Walk``; others stay as they are."""
    path, class_name = split_file(target)
    return target if not path else ":".join(filter(None, (Path(path).stem, class_name)))


def absolute_target(target: str, folder: Path) -> str:
    """A target that holds from anywhere, also where it names a file, which is relative to ``folder``."""
    path, class_name = split_file(target)
    return target if not path else ":".join(filter(None, (os.path.abspath(folder / path), class_name)))


def class_in_file(path: str, name: str, base: type[Base]) -> type[Base]:
    """The subclass of ``base`` that a Python file defines.

    Args:
        path: of the file.
        name: of the class; empty for the only one.
        base: what it must be a subclass of.

    Raises:
        ImportError: there is no such file or class, or the file cannot be imported.
    """
    kind = base.__name__
    if not Path(path).is_file():
        beside = Path(path).parent.glob("*.py") if Path(path).parent.is_dir() else []
        hint = suggest(Path(path).name, (entry.name for entry in beside))
        raise ImportError(f"no file '{path}'; expected a Python file that defines an {kind}.{hint}".removesuffix("."))
    module = _import_file(Path(path))
    classes = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.__name__
    }
    if name:
        if name not in classes:
            known = ", ".join(classes) or "none"
            raise ImportError(f"{path}: no {kind} '{name}'.{suggest(name, classes)} {kind}s: {known}")
        return classes[name]
    if len(classes) != 1:
        found = f"defines {', '.join(classes)}; say which: {path}:{next(iter(classes))}" if classes else "defines none"
        raise ImportError(f"{path}: expected a file that defines one {kind}, this one {found}")
    return next(iter(classes.values()))


def _import_file(path: Path) -> ModuleType:
    """The module in a file: by its full name if it lies in a package, so that there is no second copy of it."""
    path = path.resolve()
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file() and "." not in folder.name:
        parts.insert(0, folder.name)
        folder = folder.parent
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # for what the file imports from beside it
    try:
        return _import_of_package(folder, parts) if len(parts) > 1 else _import_alone(path)
    except (Exception, SystemExit) as error:  # the file's own code may raise anything
        raise ImportError(f"'{path}' cannot be imported: {said(error)}") from error


def _import_of_package(folder: Path, parts: Sequence[str]) -> ModuleType:
    """The module of these names, unless Python finds another package of the first name."""
    package = importlib.import_module(parts[0])
    found = [Path(place).resolve() for place in getattr(package, "__path__", [])]
    if folder / parts[0] not in found:
        where = found[0] if found else getattr(package, "__file__", None) or "built into Python"
        raise ImportError(f"its package '{parts[0]}' is another one for Python, {where}: rename the folder")
    return importlib.import_module(".".join(parts))


def _import_alone(path: Path) -> ModuleType:
    """The module in a file that lies in no package; where another module has its name, under a name with a number."""
    name, number = path.stem, 2
    while (known := sys.modules.get(name)) is not None:
        if Path(getattr(known, "__file__", None) or "").resolve() == path:
            return known
        name, number = f"{path.stem}_{number}", number + 1
    return _import_as(name, path)


def _import_as(name: str, path: Path) -> ModuleType:
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
