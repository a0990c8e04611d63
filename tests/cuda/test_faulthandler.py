"""A kernel's fault under faulthandler, which pytest enables: the error names its line, and no dump is printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cuda.test_faults import place_of
from tests.cuda.under_faulthandler import FAULTS

pytestmark = pytest.mark.cpu_backend

ROOT = Path(__file__).resolve().parents[2]
MAKES_ITS_WORLD_WHEN_IMPORTED = """
import faulthandler
from tests.cuda.under_faulthandler import faulty_world, say_faults

world = faulty_world(1)

def test_faults():
    assert faulthandler.is_enabled()
    say_faults(world)
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)


def assert_named(printed: str, times: int) -> None:
    """Each fault is named with its own line."""
    for mode in FAULTS:
        errors = [line for line in printed.splitlines() if line.startswith(f"{mode} ")]
        assert len(errors) == times
        assert all(line.startswith(f"{mode} {place_of(mode)}kernel 'step', env 0") for line in errors), errors


@pytest.mark.heavy
@pytest.mark.parametrize("words", [[], ["-X", "faulthandler"]], ids=["enabled later", "-X faulthandler"])
@pytest.mark.long
def test_enabled_before_or_after_the_first_world_and_disabled_meanwhile(words: list[str]) -> None:
    result = run(*words, "-m", "tests.cuda.under_faulthandler")
    assert result.stdout.splitlines()[0] == str(bool(words))
    assert result.stdout.endswith("end\n"), result.stderr
    assert_named(result.stdout, times=3)
    assert result.stderr == ""
    assert result.returncode == 0


@pytest.mark.heavy
@pytest.mark.long
def test_under_pytest(tmp_path: Path) -> None:
    path = tmp_path / "test_imported.py"
    path.write_text(MAKES_ITS_WORLD_WHEN_IMPORTED)
    result = run("-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "--rootdir", str(ROOT), str(path))
    assert_named(result.stdout.replace(".\n", "\n"), times=1)
    assert "1 passed" in result.stdout, result.stdout
    assert "Fatal Python error" not in result.stdout + result.stderr
