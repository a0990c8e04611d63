"""The package's folders stand on floors: imports go down, those in functions and for types too.

No import goes up, none crosses to another folder of the same floor, and no circle of files has more than three. There
are no exceptions.
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
    (PACKAGE,),
    ("report",),
    ("trainers", "envs"),
    ("blocks", "plans"),
    ("adapters", "checking", "eyes", "policies", "runs"),
    ("config", "world"),
    ("managers",),
    ("environment",),
    ("drawing", "importing"),
    ("errors", "files", "packaged", "private_folder", "text", "version"),
    ("near_names",),
)
LARGEST_CIRCLE = 3  # files
MOST_FOLDERS = 15  # at the top


@cache
def modules() -> Mapping[str, Path]:
    """The package's modules by their dotted names; a package by that of its ``__init__.py``."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
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
    """The package's other modules that each module imports."""
    return {name: frozenset(imported(path)) - {name} for name, path in modules().items()}


def folder(module: str) -> str:
    """The folder or file at the top of the package that a module belongs to; the package's own is its name."""
    return module.split(".")[1] if "." in module else PACKAGE


def arrows() -> dict[str, list[str]]:
    """Imports between folders that go up or across, as "from -> to", with the modules that have them."""
    floor = {name: number for number, names in enumerate(FLOORS) for name in names}
    found: dict[str, list[str]] = {}
    for module, others in imports().items():
        for other in others:
            start, end = folder(module), folder(other)
            if start != end and floor[start] >= floor[end]:
                found.setdefault(f"{start} -> {end}", []).append(f"{module} imports {other}")
    return found


def circles() -> list[list[str]]:
    """Groups of modules that each reach each other by imports: Tarjan's strongly connected components."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = lowest[module] = len(index)
        stack.append(module)
        for other in imports().get(module, ()):
            if other not in index:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], index[other])
        if lowest[module] == index[module]:
            place = stack.index(module)
            found.append(sorted(stack[place:]))
            del stack[place:]

    for module in imports():
        if module not in index:
            visit(module)
    return found


def test_every_folder_and_file_at_the_top_has_a_floor() -> None:
    assert {folder(module) for module in modules()} == {name for names in FLOORS for name in names}


def test_the_package_has_few_folders() -> None:
    folders = [entry.name for entry in (ROOT / PACKAGE).iterdir() if entry.is_dir() and entry.name != "__pycache__"]
    assert len(folders) <= MOST_FOLDERS, sorted(folders)


def test_imports_go_down() -> None:
    assert arrows() == {}


def test_no_circle_of_imports_is_large() -> None:
    assert [circle for circle in circles() if len(circle) > LARGEST_CIRCLE] == []
