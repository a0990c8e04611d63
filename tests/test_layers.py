"""The package's folders stand on floors: imports go down, those in functions and for types too.

No import goes up, none crosses to another folder of the same floor, and no circle of files has more than three. There
are no exceptions. A folder's ``__init__.py`` is its face: it hands on what other folders use, and they import from it,
so that a file needs to know few modules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

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
    ("errors", "files", "lazy", "moved", "packaged", "private_folder", "text", "version"),
    ("near_names",),
)
LARGEST_CIRCLE = 3  # files
MOST_IMPORTED = 14  # modules of the package, by a file
NINE_OF_TEN_IMPORT = 6
MOST_FOLDERS = 15  # at the top


@cache
def modules() -> Mapping[str, Path]:
    """The package's modules by their dotted names; a package by that of its ``__init__.py``."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def imported(module: str) -> Iterator[str]:
    """The package's modules that a module imports, wherever in its file the import stands."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: a relative import"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules() else str(node.module) for name in whole]
        else:
            continue
        yield from (name for name in names if name in modules())


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """The package's other modules that each module imports."""
    return {name: frozenset(imported(name)) - {name} for name in modules()}


@cache
def faces() -> Mapping[str, Mapping[str, str]]:
    """The names that each folder's ``__init__.py`` imports, with the modules that it imports them from."""
    found = {}
    for package in (name for name, path in modules().items() if path.name == "__init__.py" and name != PACKAGE):
        nodes = [node for node in ast.walk(tree(package)) if isinstance(node, ast.ImportFrom)]
        found[package] = {alias.name: str(node.module) for node in nodes for alias in node.names}
    return found


def home(module: str, name: str) -> str:
    """The module that a name comes from, through the faces that hand it on."""
    while name in faces().get(module, {}):
        module = faces()[module][name]
    return module


def face_of(module: str, name: str, user: str) -> str | None:
    """The outermost folder around a module, not around its user, that hands a name of the module on."""
    parts = module.split(".")
    for length in range(2, len(parts)):
        face = ".".join(parts[:length])
        if f"{user}.".startswith(f"{face}."):
            continue
        if name in faces().get(face, {}) and home(face, name) == module:
            return face
    return None


def imports_past_faces() -> Iterator[str]:
    """Imports from a module of another folder whose face has the name."""
    for user in modules():
        for node in ast.walk(tree(user)):
            if not isinstance(node, ast.ImportFrom) or node.module not in modules() or node.module in faces():
                continue
            for alias in node.names:
                face = face_of(node.module, alias.name, user)
                if face is not None:
                    yield f"{user}: `from {node.module} import {alias.name}` is `from {face} import {alias.name}`"


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


@pytest.mark.long
def test_imports_go_down() -> None:
    assert arrows() == {}


def test_no_circle_of_imports_is_large() -> None:
    assert [circle for circle in circles() if len(circle) > LARGEST_CIRCLE] == []


def test_no_circle_goes_through_a_face() -> None:
    """A module that a folder's face hands on does not import from that face."""
    assert [circle for circle in circles() if len(circle) > 1 and any(name in faces() for name in circle)] == []


def test_other_folders_import_from_faces() -> None:
    """What a folder's ``__init__.py`` hands on is imported from there by other folders."""
    assert sorted(imports_past_faces()) == []


def test_files_import_few_modules() -> None:
    """Nine of ten files import few modules of the package, and none imports many."""
    counts = {name: len(others) for name, others in imports().items()}
    many = {name: count for name, count in counts.items() if count > MOST_IMPORTED}
    assert many == {}, f"{many}: split the file, or import from the faces of folders"
    over = sorted((name for name in counts if counts[name] > NINE_OF_TEN_IMPORT), key=lambda name: -counts[name])
    listed = "\n".join(f"{counts[name]:3} {name}" for name in over)
    assert len(over) <= len(counts) / 10, f"more than a tenth import over {NINE_OF_TEN_IMPORT} modules:\n{listed}"
