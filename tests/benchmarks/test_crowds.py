"""The table of what an agent step costs as agents grow."""

from __future__ import annotations

import re

import pytest

from benchmarks import crowds
from warpworld.environment import get_environment


@pytest.mark.parametrize("label", crowds.CROWDS)
def test_worlds_have_as_many_agents_as_the_table_says(label: str) -> None:
    name, by_agents = crowds.CROWDS[label]
    for agents, params in by_agents.items():
        assert sum(group.size for group in get_environment(name)(**params).groups()) == agents


def test_a_line_for_each_environment_that_has_the_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(crowds, "WINDOWS", 1)
    monkeypatch.setattr(crowds, "STEPS", 1)
    monkeypatch.setattr(crowds, "ALL_AGENTS", 64)
    crowds.main(["spread"])
    line = capsys.readouterr().out.splitlines()[-1]
    each = r"3: \S+, 6: \S+, 12: \S+, 24: \S+, 48: \S+"
    assert re.fullmatch(rf"\| particles_spread \| {each} \| {each} \|", line)
