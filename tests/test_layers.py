"""The package's folders stand on floors: imports go down, those in functions and for types too.

No import goes up, and none crosses to another folder of the same floor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "warpworld"

# From the top down. A folder, or a file beside the folders, may import what stands on a lower floor.
FLOORS = (
    ("__main__",),
    ("cli",),
    ("commands",),
    ("board", "benching", "profiling", "sweeps", "templates", "tuning"),
    ("python_api",),
    ("sessions",),
    ("report",),
    ("tracing",),
    ("trainers", "envs"),
    ("blocks", "plans"),
    ("adapters", "checking", "exporting", "external", "eyes", "policies", "runs"),
    ("config", "world"),
    ("managers",),
    ("environment",),
    ("drawing", "importing"),
    ("errors", "files", "packaged", "private_folder", "text", "version"),
)
# Imports that still go up or across, as "from -> to"; the list only gets shorter.
EXCEPTIONS = frozenset(
    {
        "benching -> warpworld",
        "exporting -> policies",
    }
)
# Files that a user's package begins with: they import warpworld as a user does.
TEMPLATES = ROOT / PACKAGE / "templates" / "environment"


@cache
def modules() -> Mapping[str, Path]:
    """The package's modules by their dotted names; a package by that of its ``__init__.py``."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        if TEMPLATES in path.parents:
            continue
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path) -> Iterator[str]:
    """The package's modules that a file imports, wherever in the file the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules() else str(node.module) for name in whole]
        else:
            continue
        yield from (name for name in names if name in modules())


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """Of each module, the package's other modules that it imports; what the package itself hands on is left out."""
    found = {name: frozenset(imported(path)) - {name} for name, path in modules().items()}
    return {name: others for name, others in found.items() if name != PACKAGE}


def folder(module: str) -> str:
    """The folder or file at the top of the package that a module belongs to."""
    return module.split(".")[1] if "." in module else PACKAGE


def arrows() -> dict[str, list[str]]:
    """Imports between folders that go up or across, as "from -> to", with the modules that have them."""
    floor = {name: number for number, names in enumerate(FLOORS) for name in names} | {PACKAGE: -1}
    found: dict[str, list[str]] = {}
    for module, others in imports().items():
        for other in others:
            start, end = folder(module), folder(other)
            if start != end and floor[start] >= floor[end]:
                found.setdefault(f"{start} -> {end}", []).append(f"{module} imports {other}")
    return found


def test_every_folder_and_file_at_the_top_has_a_floor() -> None:
    standing = {folder(module) for module in modules()} - {PACKAGE}
    assert standing == {name for names in FLOORS for name in names}


def test_imports_go_down() -> None:
    found = arrows()
    assert {arrow: found[arrow] for arrow in sorted(found.keys() - EXCEPTIONS)} == {}


def test_no_exception_is_listed_that_is_none() -> None:
    assert sorted(EXCEPTIONS - arrows().keys()) == []
