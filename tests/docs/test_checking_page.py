"""docs/checking.md says what a check really prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import blocks, page
from warpworld.checking import KINDS
from warpworld.cli.main import main
from warpworld.managers.cpu.host_compiler import find_compiler

pytestmark = pytest.mark.cpu_backend

PAGE = page("checking")
SECONDS = re.compile(r"\d+\.\d s\)")


def mended(kernels: str, replacement: str) -> str:
    """The kernels with the page's four lines in the place of what they mend."""
    start, end = kernels.index("  int* left"), kernels.index("  if (agent_id() == 0) truncated")
    element = "berries[env_id() * PLACES + here]"
    return f"{kernels[:start]}{replacement}{kernels[end:]}".replace(f"(float){element}", f"(float)max({element}, 0)")


@pytest.mark.heavy
def test_the_example_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WARPWORLD_KERNELFLAGS", raising=False)  # lines are those of kernels that are not optimised
    kernels, replacement = blocks(PAGE, "cuda")[:2]
    (tmp_path / "berries.py").write_text(blocks(PAGE, "python")[0])
    for text, expected in zip((kernels, mended(kernels, replacement)), blocks(PAGE, "text")[:2], strict=True):
        (tmp_path / "berries.cu").write_text(text)
        assert main(["check", "berries.py"]) == 1
        assert SECONDS.sub("", capsys.readouterr().out) == SECONDS.sub("", expected)


@pytest.mark.heavy
def test_the_pen_prints_which_lines_ran_and_an_update_that_would_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WARPWORLD_KERNELFLAGS", raising=False)  # lines are those of kernels that are not optimised
    (tmp_path / "pen.py").write_text(blocks(PAGE, "python")[1])
    (tmp_path / "pen.cu").write_text(blocks(PAGE, "cuda")[2])
    for words, status, expected in (["--steps", "20"], 0, 2), ([], 1, 3):
        assert main(["check", "pen.py", *words]) == status
        assert SECONDS.sub("", capsys.readouterr().out) == SECONDS.sub("", blocks(PAGE, "text")[expected])


@pytest.mark.long
@pytest.mark.skipif(bool(find_compiler().link_command), reason="zig links no C++ library")
def test_a_vector_is_named_as_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    kernels = blocks(PAGE, "cuda")[2].replace("\n\n", "\n#include <vector>\nstatic std::vector<float> history(8);\n", 1)
    (tmp_path / "pen.py").write_text(blocks(PAGE, "python")[1])
    (tmp_path / "pen.cu").write_text(kernels)
    assert main(["check", "pen.py", "--steps", "2"]) == 0
    assert blocks(PAGE, "text")[4] in capsys.readouterr().out


def test_the_reference_says_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = [block for block in blocks(PAGE, "python") if "warpworld.compare" in block]
    exec(compile(program, "checking.md", "exec"), {})
    assert capsys.readouterr().out == blocks(PAGE, "text")[-1]


def test_the_page_tells_of_every_kind() -> None:
    table = PAGE.partition("## What it finds")[2].partition("## In tests")[0]
    named = {kind for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for kind in re.findall(r"`(.*?)`", row)}
    assert named == set(KINDS)
