"""Updates by Python in every iteration, for tests that look into them: a CUDA graph would call nothing of theirs."""

from __future__ import annotations

import pytest

from warpworld.trainers.algorithms.updates.captured_updates import CapturedUpdates
from warpworld.trainers.algorithms.updates.together import Together


def update_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no update be captured, neither by itself nor beside others."""
    monkeypatch.setattr(Together, "takes", lambda *_: False)
    monkeypatch.setattr(
        CapturedUpdates, "_captured", lambda self: self._parts(self._first(self._begin_on_device, 1), 1).run
    )
