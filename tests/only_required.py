"""A pytest plugin that hides each package that setup.py does not require and pytest does not need.

``python -m pytest -p tests.only_required`` finds what a machine finds that has none of the extras.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from typing import Any

OWN = "warpworld"
FOR_TESTS = ("pytest", "pytest-xdist", "pytest-timeout", "hypothesis", "packaging", "setuptools", "pip")


def required(roots: Sequence[str]) -> set[str]:
    """Names of the installed distributions that some need, without their extras, and of those themselves."""
    found, asked = set[str](), list(roots)
    while asked:
        name = plain(asked.pop())
        if name in found:
            continue
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:  # for another platform or Python
            continue
        found.add(name)
        asked += [re.split(r"[\s\[<>=!~;(]", need, maxsplit=1)[0] for need in needs if "extra ==" not in need]
    return found


def plain(name: str) -> str:
    """A distribution's name as indices compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def hidden_modules() -> set[str]:
    """Top-level modules of installed distributions that none of the required ones is."""
    kept = required([OWN, *FOR_TESTS])
    hidden = {module for module, owners in packages_distributions().items() if kept.isdisjoint(map(plain, owners))}
    return hidden - {"benchmarks", "tests"}  # other projects install such, too


class Without:
    """A finder that does not find some modules.

    Args:
        finder: it finds all others.
        modules: top-level names.
    """

    def __init__(self, finder: Any, modules: set[str]) -> None:
        self._finder, self._modules = finder, modules

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)

    def find_spec(self, fullname: str, *given: Any, **named: Any) -> ModuleSpec | None:
        if fullname.partition(".")[0] in self._modules:
            return None
        return self._finder.find_spec(fullname, *given, **named)


sys.meta_path[:] = [Without(finder, hidden_modules()) for finder in sys.meta_path]  # type: ignore[misc]
