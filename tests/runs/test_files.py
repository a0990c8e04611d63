"""Files that are whole or absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpworld.files import reason, remove_unfinished, replace_text, replacing


def test_the_old_file_stands_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    with path.open() as reader:
        with replacing(path) as file:
            file.write(b"new")
            file.flush()
            assert path.read_text() == "old"
        assert path.read_text() == "new"
        assert reader.read() == "old"  # renamed over, never written into
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x"
    replace_text(path, "old")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    for name in (".x.123.tmp", "x.tmp", ".x"):
        (tmp_path / name).write_text("")
    remove_unfinished(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".x", "x.tmp"]


def test_the_reason_is_what_the_system_says() -> None:
    try:
        try:
            raise OSError(28, "No space left on device")
        except OSError as error:
            raise RuntimeError("PytorchStreamWriter failed\nC++ frames") from error
    except RuntimeError as error:
        assert reason(error) == "No space left on device"
    assert reason(RuntimeError("first\nsecond")) == "first"
    assert reason(KeyError()) == "KeyError"
