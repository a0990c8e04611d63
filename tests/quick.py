"""``pytest --quick``: the first case of each test that is not marked long, heavy or slow, on kernels compiled before.
``pytest --first-cases``: the first case of each test; on the stand-in driver all cases of what runs nowhere else.

Tests of commands, checks, reports, pages, runs, processes and other libraries are left out: they run the package as a
user does, and take their time. So is the test of layers, which reads the whole package.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from pathlib import Path

import pytest

# Folders of tests, and files.
LEFT_OUT = (
    "adapters/external",
    "benchmarks",
    "browser",
    "checking",
    "cli",
    "docs",
    "policies/exporting",
    "report",
    "runs",
    "test_layers.py",
    "tools",
    "tutorials",
)
LEFT_OUT += tuple(
    f"trainers/{name}"
    for name in ("evaluations", "from_python", "league", "population", "processes", "searching", "session")
)


def keep_folder(config: pytest.Config) -> None:
    """Give temporary files the paths of the last time: a kernel is compiled anew where its path is another."""
    is_worker = hasattr(config, "workerinput")  # of pytest-xdist; its folder is in that of the process that started it
    if config.option.basetemp is None and not is_worker:
        checkout = zlib.crc32(str(config.rootpath).encode())
        config.option.basetemp = Path(tempfile.gettempdir()) / f"warpworld-quick-{os.getuid()}-{checkout:x}"


def is_left_out(config: pytest.Config, path: Path) -> bool:
    """Whether ``--quick`` leaves out a folder of tests or a file, of which nothing is loaded then."""
    return any(path == config.rootpath / "tests" / folder for folder in LEFT_OUT)


def keep_quick_tests(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out all tests that take their time."""
    takes_time = {item for item in items if any(map(item.get_closest_marker, ("long", "heavy", "slow")))}
    left_out = tuple(f"tests/{name}" if name.endswith(".py") else f"tests/{name}/" for name in LEFT_OUT)
    _keep(config, items, [item for item in items if item not in takes_time and not item.nodeid.startswith(left_out)])


def keep_first_cases(config: pytest.Config, items: list[pytest.Item], whole: tuple[str, ...] = ()) -> None:
    """Leave out the other cases of each parametrised test.

    Args:
        config: pytest's.
        items: the collected tests, shortened in place.
        whole: marks of tests that keep all their cases.
    """
    first: dict[str, pytest.Item] = {}
    for item in items:
        is_whole = any(map(item.get_closest_marker, whole))
        first.setdefault(item.nodeid if is_whole else item.nodeid.partition("[")[0], item)
    _keep(config, items, list(first.values()))


def _keep(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept
