"""Updates by Python in every iteration, for tests that look into them: a CUDA graph would call nothing of theirs."""

from __future__ import annotations

import pytest

from warpworld.trainers.algorithms.captured_update import CapturedUpdate


def update_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no update be captured."""
    monkeypatch.setattr(CapturedUpdate, "run", lambda self, update, written, captured: update.run())
