"""Where pages are followed: an empty working folder, whose modules are forgotten afterwards."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.reader import Reader, ReaderMaker


@pytest.fixture
def working_folder(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """An empty folder to work in, from which can be imported; what this and earlier tests imported is forgotten."""
    forget_modules(tmp_path_factory.getbasetemp())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()
    yield tmp_path
    forget_modules(tmp_path)


def forget_modules(folder: Path) -> None:
    """Forget the modules that were imported from files in this folder."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(f"{folder}/"):
            del sys.modules[name]


@pytest.fixture
def make_reader(working_folder: Path, capsys: pytest.CaptureFixture[str]) -> ReaderMaker:
    """Makes readers of pages."""

    def make(*modules: str, one_session: bool = False, shorter: tuple[str, ...] = ()) -> Reader:
        return Reader(working_folder, capsys, *modules, one_session=one_session, shorter=shorter)

    return make
