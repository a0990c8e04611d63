"""What a part of the suite is given on a machine without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.gpu.part import Context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context("cpu", quick=True, limit=60.0, path=tmp_path / "figures.json")
