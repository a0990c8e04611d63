"""Faulty kernels become errors that name kernel, env, agent and line; the same world and process then go on."""

from __future__ import annotations

import platform

import pytest
from kernel_worlds import HERE, kernel_world

from warpworld import Array, World

NUM_ENVS, NUM_AGENTS, BAD_ENV, BAD_AGENT = 500, 8, 433, 5
WORKERS = [1, 2]
MODES = [
    "right",
    "assertion",
    "trap",
    "null_pointer",
    "wild_pointer",
    "division",
    "recursion",
    "endless",
    "barriers",
    "big_frame",
]
SAYS = {
    "assertion": "assertion failed: zeros[0] == 1",
    "trap": "__trap() was called",
    "null_pointer": "invalid memory access at address 0x0: a null pointer",
    "wild_pointer": "invalid memory access at address",
    "division": "integer division by zero",
    "recursion": "stack overflow: local variables of one agent take more than 64 KiB",
    "big_frame": "stack overflow: local variables of one agent take more than 64 KiB",
    "endless": "no progress within 0.1 s",
    "barriers": "no progress within 0.1 s",
}
WORLD = [Array(name, "int32", per="world", initial=0) for name in ("mode", "late", "bad_env", "bad_agent")]
ARRAYS = [*WORLD, Array("zeros", "int32", (2,), per="world", initial=0), Array("x", "float32")]
divides = pytest.mark.skipif(platform.machine() != "x86_64", reason="integer division by zero faults on x86 only")


@pytest.fixture(autouse=True)
def short_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWORLD_KERNEL_TIMEOUT", "0.1")


def faulty_world(workers: int, num_agents: int = NUM_AGENTS, frame: int = 200_000) -> World:
    source = (HERE / "faults.cu").read_text()
    world = kernel_world("faults.cu", "step", ARRAYS, num_agents, NUM_ENVS, workers, constants={"FRAME": frame})
    assert source
    return world


def line_of(mark: str, source: str = "faults.cu") -> int:
    """The line that ends in ``// mark``."""
    lines = (HERE / source).read_text().splitlines()
    (found,) = [number for number, line in enumerate(lines, start=1) if line.endswith(f"// {mark}")]
    return found
