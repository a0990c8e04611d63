"""Tests of the repository's own tables and experiments run nightly; those of the GPU suite, in gpu/, run always."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before -m
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the files that lie in this folder itself."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.exhaustive)
