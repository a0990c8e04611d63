"""docs/bodies.md, followed from its first line to its last in an empty folder."""

from __future__ import annotations

import glob
import re
import shlex
from pathlib import Path

import pytest

from tests.docs.pages import page, shown
from warpworld.cli.main import main

pytestmark = pytest.mark.cpu_backend

VARIES = re.compile(r"\d+\.\d s\)|\d+ lines")  # time, and what compilers make of lines


@pytest.mark.usefixtures("optimised")
@pytest.mark.slow
def test_the_page_can_be_followed(working_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Movers that have learnt bring the crate metres to the right, which random ones do not."""
    printed, compared = "", []
    for block in shown(page("bodies")):
        if block.file:
            (working_folder / block.file).write_text(block.text)
        elif block.language == "sh":
            for line in block.text.splitlines():
                words = [word for part in shlex.split(line) for word in (glob.glob(part) or [part])][1:]
                assert main(words) == 0
                printed = capsys.readouterr().out
        elif block.language == "text" and not block.text.startswith("#include"):
            compared.append((block.text, printed))
    (clean, said), (table, result) = compared
    assert VARIES.sub("", said) == VARIES.sub("", clean)
    shown_mean, _, _ = re.findall(r"\d+\.\d+", table)
    mean, _, at_random = (float(number) for number in re.findall(r"-?\d+\.\d+", result))
    assert mean == pytest.approx(float(shown_mean), abs=3.0)
    assert abs(at_random) < 5.0
