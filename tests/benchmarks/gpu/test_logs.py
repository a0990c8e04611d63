"""Output of parts is kept in folders of their own."""

from __future__ import annotations

from pathlib import Path

from benchmarks.gpu.process import run_part
from tests.benchmarks.gpu.suite_tools import part


def test_the_log_of_a_part_has_the_whole_traceback(tmp_path: Path) -> None:
    for _ in range(2):
        result = run_part(part("raises_deep_down"), "cpu", quick=True, limit=60, logs=tmp_path)
    assert "in raises_deep_down" not in result["reason"]  # its last lines only
    for name in ("raises_deep_down", "raises_deep_down-2"):
        text = (tmp_path / name / "output.txt").read_text()
        assert "in raises_deep_down" in text and text.count("in even") == 7
