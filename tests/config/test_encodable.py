"""Texts that no file can hold: bytes of a path that are not UTF-8, and half characters that YAML spells out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chase import NAME, TEXT, changed
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.errors import ConfigError


def refusal(call: Callable[[], RunConfig]) -> str:
    with pytest.raises(ConfigError) as caught:
        call()
    return str(caught.value)


def test_in_a_file(load: Callable[..., RunConfig], tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    assert refusal(lambda: load(TEXT + 'saving: {directory: "a\\udce9b"}\n')) == (
        rf"{file}, line 13: saving.directory is 'a\udce9b', expected text in UTF-8; rename a folder that is not"
    )
    assert refusal(lambda: load(changed("gamma: 1", 'groups: ["a\\ud800"]'))) == (
        rf"{file}, line 12: policy.evader.groups[0] is 'a\ud800', expected text in UTF-8; rename a folder that is not"
    )
    assert refusal(lambda: load(changed("evader:", '"a\\udce9":'))) == (
        rf"{file}, line 11: the key 'policy.a\udce9' is not UTF-8"
    )


def test_on_the_command_line(load: Callable[..., RunConfig]) -> None:
    """What the shell passes as bytes that are not UTF-8."""
    assert refusal(lambda: load(TEXT, "saving.directory=caf\udce9")) == (
        "command line, saving.directory=caf\udce9: the character U+DCE9 cannot stand in YAML text"
    )


def test_in_memory(load: Callable[..., RunConfig]) -> None:
    data = load(TEXT).to_dict()
    data["saving"]["directory"] = "\udce9"
    assert refusal(lambda: config_from_dict(data)) == (
        r"config: saving.directory is '\udce9', expected text in UTF-8; rename a folder that is not"
    )


def test_a_folder_that_the_config_lies_in(tmp_path: Path) -> None:
    folder = tmp_path / "caf\udce9"
    folder.mkdir()
    (folder / "walk.yaml").write_text(changed(NAME, "walk.py"))
    assert refusal(lambda: load_config(folder / "walk.yaml")) == (
        f"{folder / 'walk.yaml'}, line 1: name is {str(folder / 'walk.py')!r}, expected text in UTF-8; rename a folder "
        "that is not"
    )
