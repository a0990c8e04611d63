"""Kernels are checked as users' are compiled: which reads and writes are left of a loop depends on that."""

import pytest


@pytest.fixture(autouse=True)
def users_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WARPWORLD_KERNELFLAGS", raising=False)
