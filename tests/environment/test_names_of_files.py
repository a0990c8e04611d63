"""Environments named by their file: found with or without the class, and refused with what to write instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warpworld.environment import Environment, get_environment
from warpworld.errors import DeclarationError

WALK = "from warpworld import Environment\n\n\nclass Walk(Environment):\n    pass\n"
RUN = "\n\nclass Run(Environment):\n    pass\n"


def test_a_file_with_one_environment(tmp_path: Path) -> None:
    (tmp_path / "walk.py").write_text(WALK)
    found = get_environment(f"{tmp_path}/walk.py")
    assert issubclass(found, Environment)
    assert found.__name__ == "Walk"


def test_one_class_of_several(tmp_path: Path) -> None:
    (tmp_path / "walk.py").write_text(WALK + RUN)
    assert get_environment(f"{tmp_path}/walk.py:Run").__name__ == "Run"
    with pytest.raises(
        DeclarationError, match=r"defines one Environment, this one defines Walk, Run; say which: .*walk\.py:Walk"
    ):
        get_environment(f"{tmp_path}/walk.py")


def test_a_file_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("walk.py").write_text(WALK)
    with pytest.raises(DeclarationError, match=r"no file '.*walc\.py'.* Did you mean 'walk\.py'\?"):
        get_environment("walc.py")


@pytest.mark.parametrize("name", ["walk.cu", "walk.yaml", "walk"])
def test_a_kernel_file_or_folder_hints_at_the_python_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("walk.py").write_text(WALK)
    with pytest.raises(DeclarationError, match=re.escape(f"unknown environment '{name}'. An environment is named by ")):
        get_environment(name)


def test_a_folder_hints_at_the_file_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chase").mkdir()
    Path("chase", "chase.py").write_text(WALK)
    with pytest.raises(DeclarationError, match=r"An environment is named by its Python file: chase/chase\.py\."):
        get_environment("chase")


@pytest.mark.parametrize("name", ["", ".", "no_such_thing.cu"])
def test_without_a_python_file_there_is_no_hint(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DeclarationError, match=f"unknown environment '{re.escape(name)}'. Known: "):
        get_environment(name)
