"""Modules that moved within a package, and are found where they were, too."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module


def moved_modules(package: str, places: Mapping[str, str]) -> None:
    """Let modules that moved within a package be imported from where they were, too.

    Args:
        package: full name of the package, whose ``__init__.py`` loads these modules anyway.
        places: by the former name the present one, both below the package.
    """
    for former, now in places.items():
        module = import_module(f"{package}.{now}")
        sys.modules[f"{package}.{former}"] = module
        setattr(sys.modules[package], former, module)
