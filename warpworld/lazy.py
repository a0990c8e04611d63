"""Imports that wait: names that a package hands on from its modules, and what follows another library's import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package that imports names for type checkers alone.

    Its ``__init__.py`` lists each name once. Type checkers, editors and documentation follow the imports; a program
    loads a module when it asks for one of the module's names, so that the package itself costs nothing at start::

        if TYPE_CHECKING:
            from package.module import Name as Name
        else:
            __getattr__, __dir__ = lazy_names(__name__)

    Modules of the package can be had in the same way. A name must not be that of a module of the package: once
    imported, the module would take its place.

    Args:
        package: full name of the package.
    """

    def names() -> Mapping[str, str]:
        return _homes(package)

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(names())
        if name.startswith("_"):
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        if name in names():
            return getattr(import_module(names()[name]), name)  # not kept here: a test may replace it in its module
        if find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return import_module(f"{package}.{name}")

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names()})

    return get, listed


@cache
def _homes(package: str) -> Mapping[str, str]:
    """The modules of a package's names, read from its source; by its loader, for it may lie in an archive."""
    import ast  # `import warpworld` needs no name

    spec = sys.modules[package].__spec__
    source = spec.loader.get_data(spec.origin)  # type: ignore[union-attr]
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def when_imported(name: str, then: Callable[[], None]) -> None:
    """Call ``then`` once the module ``name`` is imported: now, or when it is."""
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _Awaited(name, then))


class _Awaited(MetaPathFinder):
    """Leaves the finding of modules to others, and follows the loading of one."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_call(module: ModuleType) -> None:
                load(module)
                self._then()

            spec.loader.exec_module = load_and_call  # type: ignore[method-assign]
        return spec
