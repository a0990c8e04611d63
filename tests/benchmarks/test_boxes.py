"""The table of what boxes cost beside walls."""

from __future__ import annotations

import pytest

from benchmarks import boxes


@pytest.mark.heavy
def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    boxes.main(["--envs", "4", "--seconds", "0.001"])
    first, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith("ns of a look of 64 rays")
    kinds = [row.split()[:2] for row in rows]
    assert kinds == [[kernel, kind] for kernel, kinds in boxes.KINDS.items() for kind in kinds]
