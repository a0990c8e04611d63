"""Docstrings of modules and of public names begin with a noun phrase or a verb."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Begin with the noun that is meant, "Observation of ...", or with a verb, "Return ...".
FORBIDDEN = {"What", "Which", "How", "Where", "When", "Why", "Who", "Whose", "See", "Those", "Of"}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def faults(source: str) -> Iterator[str]:
    """Lines and first words of docstrings that begin with a forbidden word."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, DOCUMENTED) or getattr(node, "name", "").startswith("_"):
            continue
        first = re.match(r"\w+", ast.get_docstring(node) or "")
        if first and first[0] in FORBIDDEN:
            yield f"{node.body[0].lineno}: {first[0]}"


@pytest.mark.long
def test_docstrings_begin_with_a_noun_phrase_or_a_verb() -> None:
    package = ROOT / "warpworld"
    paths = list(package.rglob("*.py"))
    found = {path.relative_to(ROOT).as_posix(): list(faults(path.read_text(encoding="utf-8"))) for path in paths}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_a_forbidden_first_word_is_found() -> None:
    source = '"""What a file holds."""\nclass A:\n    """See."""\n    def _b(self): "Of a."\n    def c(self): "Size."'
    assert list(faults(source)) == ["1: What", "3: See"]
