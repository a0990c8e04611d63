"""``pytest --quick``: the first case of each test that is not marked long, heavy or slow, on kernels compiled before.

Tests of commands, pages and benchmarks are left out: they run the package as a user does, and take their time.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from pathlib import Path

import pytest

# Folders of tests.
LEFT_OUT = ("benchmarks", "board", "browser", "commands", "docs", "exporting", "python_api", "tutorials")


def keep_folder(config: pytest.Config) -> None:
    """Give temporary files the paths of the last time: a kernel is compiled anew where its path is another."""
    is_worker = hasattr(config, "workerinput")  # of pytest-xdist; its folder is in that of the process that started it
    if config.option.basetemp is None and not is_worker:
        checkout = zlib.crc32(str(config.rootpath).encode())
        config.option.basetemp = Path(tempfile.gettempdir()) / f"warpworld-quick-{os.getuid()}-{checkout:x}"


def keep_first_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the other cases of each parametrised test, and all tests that take their time."""
    first: dict[str, pytest.Item] = {}
    for item in items:
        takes_time = any(item.get_closest_marker(name) for name in ("long", "heavy", "slow"))
        if not takes_time and item.nodeid.split("/")[1] not in LEFT_OUT:
            first.setdefault(item.nodeid.partition("[")[0], item)
    kept = set(first.values())
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
