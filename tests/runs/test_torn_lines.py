"""A last line of metrics that was torn just before its end."""

from __future__ import annotations

import json
from pathlib import Path

from warpworld.runs.loggers import JsonLines


def test_a_line_without_its_end_is_no_line(tmp_path: Path) -> None:
    """Also where what is there of it can be read: the next line would stand behind it."""
    file = JsonLines(tmp_path / "metrics.jsonl", lambda metrics: metrics)
    file.path.write_text('{"iteration": 1}\n{"iteration": 2}')
    file.rewind(2, 20)
    assert file.path.read_text() == '{"iteration": 1}\n'
    file.log({"iteration": 2})
    file.close()
    assert [json.loads(line)["iteration"] for line in file.path.read_text().splitlines()] == [1, 2]
