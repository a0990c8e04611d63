"""Former names, which are found where they were: each warns once in a process, with what to write instead."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

_warned = set[str]()


def warn_deprecated(former: str, instead: str, stacklevel: int = 1) -> None:
    """Warn once in a process that a name has another one now.

    The warning is a ``FutureWarning``: Python shows these wherever the name stands.

    Args:
        former: what was written.
        instead: what to write.
        stacklevel: calls between this one and the line that the warning names; 1 is the caller.
    """
    if former in _warned:
        return
    _warned.add(former)
    warnings.warn(f"{former} is deprecated and goes with warpworld 2.0: write {instead}", FutureWarning, stacklevel + 1)


class _Moved(ModuleType):
    """A module's former place: names are looked up in the present one."""

    def __init__(self, former: str, module: ModuleType) -> None:
        super().__init__(former, module.__doc__)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python itself asks every module
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        value = getattr(self._module, name)
        warn_deprecated(self.__name__, self._module.__name__, stacklevel=2)
        return value


def moved_modules(package: str, places: Mapping[str, str]) -> None:
    """Let modules that moved within a package be imported from where they were, too, with a warning.

    Args:
        package: full name of the package, whose ``__init__.py`` loads these modules anyway.
        places: by the former name the present one, both below the package.
    """
    for former, now in places.items():
        module = _Moved(f"{package}.{former}", import_module(f"{package}.{now}"))
        sys.modules[f"{package}.{former}"] = module
        setattr(sys.modules[package], former, module)
