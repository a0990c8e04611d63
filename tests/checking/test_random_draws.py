"""One agent that draws the same random numbers twice is told of, with both lines."""

from __future__ import annotations

import importlib.util
import shutil
import sys

import pytest

from tests.checking.planted_worlds import checked, line_of

pytestmark = pytest.mark.cpu_backend

REPEATED = [
    ("two_generators", "two_generators", "two_generators before", "as at line {}", False),
    ("two_of_the_env", "two_of_the_env", "two_of_the_env before", "as at line {}", False),
    ("by_value", "by_value", "by_value before", "as at line {}", False),
    ("by_another_name", "by_another_name", "by_another_name before", "as at line {}", False),
    ("in_a_loop", "in_a_loop", "in_a_loop", "as at the same line before", False),
    ("in_a_helper", "noise", "noise", "as at the same line before", False),
    ("agreed", "agreed", "agreed", "as at the same line before", True),
]
COMPILERS = {
    "the default": ("", True),
    "clang++": ("clang++", shutil.which("clang++")),
    "zig": (f"{sys.executable} -m ziglang c++", importlib.util.find_spec("ziglang")),
}


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("clang++", "zig")]


@pytest.mark.parametrize("compiler", ["the default", *OTHERS])
@pytest.mark.parametrize(("kernel", "at", "before", "words", "note"), REPEATED, ids=[case[0] for case in REPEATED])
def test_numbers_that_are_drawn_again_are_told_with_both_lines(
    kernel: str, at: str, before: str, words: str, note: bool, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, here = COMPILERS[compiler]
    if not here:
        pytest.skip(f"needs {compiler}")
    if command:
        monkeypatch.setenv("CXX", command)
    (finding,) = checked("random.cu", kernel).findings
    other = line_of("random.cu", before)
    assert (finding.kind, finding.kernel, finding.note) == ("random", kernel, note)
    assert (finding.env, finding.agents) == (0, (0,))
    assert finding.place.line == line_of("random.cu", at)
    assert finding.other is not None and finding.other.line == other
    assert finding.message == f"kernel '{kernel}', env 0: agent 0 draws the same random numbers {words.format(other)}"


def test_agents_that_draw_the_same_for_all_are_in_order() -> None:
    report = checked("random.cu", "independent")
    assert report.findings == (), str(report)
