"""Classes that users name as ``module:Class``."""

from __future__ import annotations

import importlib
from typing import Any

from warpworld.errors import said


def import_named(name: str) -> Any:
    """What ``module:Class`` names.

    Raises:
        ImportError: it cannot be had, for whatever reason: the module's own code may raise anything.
    """
    module, _, attribute = name.partition(":")
    if module.startswith("."):
        raise ImportError(f"'{module}' is relative, expected the module's full name")
    try:
        return getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise ImportError(said(error)) from error
