"""Commands that answer at once: they do not load torch, whose import takes longer than all else that they do."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.long, pytest.mark.cpu_backend]

PROGRAM = """
import sys
from warpworld.cli.main import main
status = main(sys.argv[1:])
assert status == 0, status
print("loaded" if "torch" in sys.modules else "not loaded")
"""


def run(*arguments: str) -> list[str]:
    """Lines that a command prints in a process of its own, and whether torch was loaded then."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("arguments", [["list"], ["params", "warpworld.envs.cartpole.cartpole:CartPole"]])
def test_no_torch(arguments: list[str]) -> None:
    assert run(*arguments)[-1] == "not loaded"


def test_info_loads_torch_for_a_gpu_alone() -> None:
    *lines, loaded = run("info")
    has_gpu = not any(line.startswith("device cuda: not usable") for line in lines)
    assert loaded == ("loaded" if has_gpu else "not loaded")
    assert {line.split()[0] for line in lines} >= {"warpworld", "torch", "compiler", "tf32", "bf16", "cache", "device"}
