"""docs/export.md: its commands and programs are run, and print what stands below them."""

from __future__ import annotations

import contextlib
import glob
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import page, shown
from tests.policies.exporting.policies import policy_of
from warpworld.cli.main import main
from warpworld.policies.exporting import Interface
from warpworld.policies.exporting.comparing import BATCHES, STEPS, TOLERANCE

pytestmark = pytest.mark.cpu_backend
PAGE = page("export")
ROUNDED = re.compile(r"[\d.]+ kB|\d\.\de-\d\d")  # of weights, which another machine's arithmetic changes


@pytest.mark.slow
@pytest.mark.usefixtures("optimised")
def test_every_block_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    printed, compared = "", 0
    for block in shown(PAGE):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            if block.language == "sh":
                for line in block.text.splitlines():
                    words = [found for word in line.split()[1:] for found in glob.glob(word) or [word]]
                    assert main(words) == 0
            elif block.language == "python":
                exec(compile(block.text, "export.md", "exec"), names)
            else:
                assert ROUNDED.sub("", printed).endswith(ROUNDED.sub("", block.text))
                compared += 1
        printed = out.getvalue() or printed
    assert compared == 4


def test_the_page_names_every_tensor_and_what_is_checked() -> None:
    interface = Interface.of(policy_of("mixed"))
    for port in (*interface.inputs, *interface.outputs):
        assert f"| `{re.sub('_(camera|flags|imu|kinds|line|one)$', '_KEY', port.name)}` |" in PAGE
    assert f"in batches of {BATCHES[0]}, {BATCHES[1]} and {BATCHES[2]}" in PAGE
    assert STEPS == 4 and TOLERANCE == 1e-5
