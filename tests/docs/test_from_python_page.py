"""docs/from-python.md: every block is run, and prints last what stands below it."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.docs.pages import page, shown
from warpworld.report.recording import Recording

PAGE = page("from-python")


@pytest.mark.usefixtures("optimised")
@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.cpu_backend
def test_every_block_prints_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    names: dict[str, Any] = {}
    printed, compared = "", 0
    for block in shown(PAGE):
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block.text, "from-python.md", "exec"), names)
            printed = out.getvalue()
        else:
            assert printed[-len(block.text) :] == block.text
            compared += 1
    assert compared == 8
    assert isinstance(names["recording"], Recording)
    assert repr(names["world"]).startswith("<World tag_gridworld: 8 envs")
