"""YAML aliases: what they repeat is bounded, and none holds itself."""

from __future__ import annotations

import itertools
import string

import pytest
import yaml

from warpworld.config.documents import yaml_aliases, yaml_nodes
from warpworld.config.documents.document import Document
from warpworld.config.documents.yaml_aliases import MOST_REPEATED
from warpworld.errors import ConfigError


def tower(levels: int, first: str, level: str, times: int) -> str:
    """Lines that each hold the line above many times."""
    names = string.ascii_lowercase[:levels]
    lines = [f"a: &a {first}"]
    lines += [f"{up}: &{up} {level.format(', '.join([f'*{low}'] * times))}" for low, up in itertools.pairwise(names)]
    return "\n".join(lines) + "\n"


def parse(text: str) -> Document:
    return Document.parse(text.encode(), "run.yaml")


def test_as_much_as_allowed() -> None:
    text = "x" * (MOST_REPEATED // 100)
    assert parse(f"a: &a {text}\nb: [*a{', *a' * 99}]\n").data["b"] == [text] * 100


@pytest.mark.heavy
@pytest.mark.long
def test_a_long_text_without_aliases_has_no_limit() -> None:
    numbers = list(range(MOST_REPEATED))
    assert parse(f"a: {numbers}\n").data["a"] == numbers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"a: &a {'x' * (MOST_REPEATED // 100)}\nb: &b y\nc: [{'*a, ' * 100}*b]\n",
            "line 3: c[100]: aliases up to here repeat 100,001 characters, expected at most 100,000",
        ),
        (
            f"k: &k {'x' * 1000}\nenv:\n  walls: [{'{*k : 1}, ' * 200}]\n",  # a key that is an alias
            "line 3: env.walls[100]: aliases up to here repeat 101,000 characters, expected at most 100,000",
        ),
        (
            tower(6, "[1]", "[{}]", times=12),
            "line 6: f[1]: aliases up to here repeat 134,006 characters, expected at most 100,000",
        ),
        (
            tower(16, "{k: 1}", "{{<<: [{}]}}", times=2),  # merging writes keys out as well
            "line 14: n.<<[1]: aliases up to here repeat 114,570 characters, expected at most 100,000",
        ),
        (
            "env:\n  walls: &walls\n    - [*walls]\n",
            "line 2: env.walls[0][0] stands for env.walls, which would hold itself",
        ),
        ("policy:\n  a: &a\n    <<: *a\n", "line 3: policy.a.<< stands for policy.a, which would hold itself"),
        ("&all [*all]\n", "line 1: [0] stands for all, which would hold itself"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert str(caught.value) == f"run.yaml, {message}"


def test_on_the_command_line() -> None:
    with pytest.raises(ConfigError) as caught:
        Document("run.yaml", {}).override("env.a=&a [*a]")
    assert str(caught.value) == "command line, env.a=&a [*a]: [0] stands for all, which would hold itself"


def test_nodes_are_visited_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Written out, these thousand characters would be more than 10^23."""
    visited = []
    monkeypatch.setattr(yaml_aliases, "children", lambda node: visited.append(node) or yaml_nodes.children(node))
    text = tower(26, "[1]", "[{}]", times=9)
    with pytest.raises(ConfigError, match="aliases up to here repeat"):
        yaml_aliases.check_aliases(yaml.compose(text), lambda line: f"line {line}")
    assert 0 < len(visited) < len(text)
