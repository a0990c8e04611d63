"""Tests of the repository's own tables and experiments run nightly; those of the GPU suite, in gpu/, run always."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Load none of the files that lie in this folder itself where their tests do not run: some load large libraries."""
    is_here = collection_path.parent == HERE and collection_path.name.startswith("test_")
    return True if is_here and not config.getoption("exhaustive") else None


@pytest.hookimpl(tryfirst=True)  # before -m
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the files that lie in this folder itself."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.exhaustive)
