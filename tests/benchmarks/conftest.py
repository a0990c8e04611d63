"""Tests of what lies in `benchmarks/`, scripts of the repository: they run nightly."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Load none of the files where their tests do not run: some load large libraries."""
    is_here = HERE in collection_path.parents and collection_path.name.startswith("test_")
    return True if is_here and not config.getoption("exhaustive") else None


@pytest.hookimpl(tryfirst=True)  # before -m
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests for ``make exhaustive``."""
    folder = f"{HERE.relative_to(config.rootpath).as_posix()}/"
    for item in items:
        if item.nodeid.startswith(folder):
            item.add_marker(pytest.mark.exhaustive)
