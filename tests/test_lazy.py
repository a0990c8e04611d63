"""Packages that hand on names of their modules, imported when asked for."""

from __future__ import annotations

import ast
import importlib
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import warpworld
import warpworld.trainers.session

ROOT = Path(__file__).parents[1]
LAZY = sorted(
    ".".join(path.parent.relative_to(ROOT).parts)
    for path in (ROOT / "warpworld").rglob("__init__.py")
    if "lazy_names(__name__)" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("package", LAZY)
def test_all_names_are_there(package: str) -> None:
    face = importlib.import_module(package)
    for name in face.__all__:
        assert getattr(face, name) is not None


@pytest.mark.parametrize("package", LAZY)
def test_no_name_is_that_of_a_module(package: str) -> None:
    """Once the module is imported it would take the name's place."""
    folder = ROOT / package.replace(".", "/")
    modules = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert modules.isdisjoint(importlib.import_module(package).__all__)


@pytest.mark.parametrize("package", LAZY)
def test_names_are_handed_on_for_type_checkers_too(package: str) -> None:
    """`from module import Name as Name` is how type checkers know that a name is meant for others."""
    source = (ROOT / package.replace(".", "/") / "__init__.py").read_text(encoding="utf-8")
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body]
    assert all(isinstance(node, ast.ImportFrom) for node in imports)
    assert all(alias.asname == alias.name for node in imports for alias in node.names)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'warpworld' has no attribute 'trian'"):
        _ = warpworld.trian
    with pytest.raises(ImportError, match="cannot import name 'Sesion'"):
        exec("from warpworld.trainers.session import Sesion")


def test_classes_are_pickled_by_their_modules() -> None:
    assert pickle.loads(pickle.dumps(warpworld.Array)) is warpworld.Array


PACKAGE = """
from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from packed.one import ONE as ONE
    from packed.two import TWO as TWO
else:
    __getattr__, __dir__ = lazy_names(__name__)
"""
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import packed
assert not {"packed.one", "packed.two"} & set(sys.modules)
assert packed.ONE == 1 and "packed.two" not in sys.modules
from packed import *
assert TWO == 2 and packed.three.THREE == 3
"""


def test_names_of_a_package_in_an_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("packed/__init__.py", PACKAGE)
        for name, value in (("one", 1), ("two", 2), ("three", 3)):
            archive.writestr(f"packed/{name}.py", f"{name.upper()} = {value}\n")
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "packed.zip")], cwd=ROOT, check=True)
