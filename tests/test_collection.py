"""The test tree on a machine that has none of the extras: it is collected whole, and what needs one is skipped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = ("tests.only_required", "xdist.plugin", "pytest_timeout", "warpworld.checking.pytest_plugin")


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.cpu_backend
def test_every_file_is_collected_without_the_extras() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    command += [word for plugin in PLUGINS for word in ("-p", plugin)]
    # plugins that other packages register would be loaded first, and ask for what is hidden
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-3000:]
    files = {line.partition("::")[0] for line in ended.stdout.splitlines() if "::" in line}
    skipped = set(re.findall(r"^SKIPPED \[\d+\] (\S+?):\d+:", ended.stdout, re.MULTILINE))
    assert "tests/adapters/test_parallel.py" in skipped  # so it was hidden
    assert len(files) > 20 * len(skipped)
