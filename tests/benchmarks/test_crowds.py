"""The table of what an agent step costs as agents grow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from benchmarks import crowds
from warpworld.environment import get_environment


@pytest.mark.parametrize("label", crowds.CROWDS)
def test_worlds_have_as_many_agents_as_the_table_says(label: str) -> None:
    name, by_agents = crowds.CROWDS[label]
    for agents, params in by_agents.items():
        assert sum(group.size for group in get_environment(name)(**params).groups()) == agents


def test_a_line_for_each_environment_that_has_the_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(crowds, "WINDOWS", 1)
    monkeypatch.setattr(crowds, "STEPS", 1)
    monkeypatch.setattr(crowds, "ALL_AGENTS", 64)
    kept, picture = tmp_path / "costs.json", tmp_path / "costs.png"
    crowds.main(["spread", "--save", str(kept)])
    line = capsys.readouterr().out.splitlines()[-1]
    each = r"3: \S+, 6: \S+, 12: \S+, 24: \S+, 48: \S+"
    assert re.fullmatch(rf"\| particles_spread \| {each} \| {each} \|", line)
    crowds.main(["--load", str(kept), "--draw", str(picture)])
    assert capsys.readouterr().out.splitlines()[-1] == line
    assert Image.open(picture).size[0] > 500
