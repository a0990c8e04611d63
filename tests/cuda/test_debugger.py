"""WARPWORLD_DEBUG=1: kernels to stop in with gdb, and the same results as ever."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cuda.debugger import SETUP, gdb
from tests.cuda.kernel_worlds import HERE, kernel_world, run
from warpworld import Array
from warpworld.errors import BuildError
from warpworld.managers.cpu.backend import CpuBackend

pytestmark = pytest.mark.cpu_backend

ARRAYS = [Array("x", "float32", initial=0.0), Array("met", "int32", per="env", initial=0)]
SOURCE = HERE / "debugging.cu"
PROGRAM = """
from tests.cuda.test_debugger import ARRAYS
from tests.cuda.kernel_worlds import kernel_world
kernel_world("debugging.cu", "step", ARRAYS, 5, 7, None, device="cpu").step()
"""


def line_of(mark: str) -> int:
    (line,) = (n for n, line in enumerate(SOURCE.read_text().splitlines(), 1) if line.endswith(f"// {mark}"))
    return line


@pytest.mark.parametrize("compiler", ["g++", pytest.param("clang++", marks=pytest.mark.slow)])
@pytest.mark.heavy
@pytest.mark.long
def test_gdb_stops_in_one_agent_of_one_env(compiler: str, tmp_path: Path) -> None:
    commands = (
        *SETUP,
        f"break debugging.cu:{line_of('stop')} if env_id() == 3 && agent_id() == 2",
        "run",
        *("echo == where\\n", "backtrace"),
        *(
            "echo == x\\n",
            "output x[agent_index()]",
            "echo \\n== i\\n",
            "output i",
            "echo \\n== locals\\n",
            "info locals",
        ),
        *("next", "echo == barrier\\n", "frame", "next", "echo == behind\\n", "frame"),
        *("output agent_id()", "echo \\n== shared\\n", "output seen[4]", "echo \\n== end\\n", "delete", "continue"),
    )
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    said = gdb(commands, ["-c", PROGRAM], tmp_path, CXX=compiler, PYTHONPATH=os.pathsep.join(sys.path))
    parts = dict(part.partition("\n")[::2] for part in said.split("== ")[1:])
    frames = [line for line in parts["where"].splitlines() if line.startswith("#")]
    assert frames[0].startswith("#0  step (x=")
    assert frames[0].endswith(f"debugging.cu:{line_of('stop')}")
    assert "ww_fiber_entry" in frames[-1]  # where a fiber begins, unwinding ends
    assert "corrupt" not in said
    assert parts["x"].strip() == "36"
    assert parts["i"].strip() == "17"
    assert "i = 17" in parts["locals"]
    assert f"debugging.cu:{line_of('barrier')}\n" in parts["barrier"]
    behind = parts["behind"].splitlines()
    assert f"debugging.cu:{line_of('behind')}" in behind[0]
    assert behind[-1] == "2"  # the same agent, though the others have run meanwhile
    assert parts["shared"].strip() == "40"
    assert "exited normally" in parts["end"]


@pytest.mark.heavy
@pytest.mark.long
def test_gdb_stops_where_a_kernel_faults(tmp_path: Path) -> None:
    program = (
        "from tests.cuda.test_faults import *\nworld = faulty_world(1)\nworld['mode'] = MODES.index('null_pointer')\n"
        "world['bad_env'] = 3\nworld.step()"
    )
    commands = [*SETUP, "run", "echo == where\\n", "backtrace 1"]
    said = gdb(commands, ["-c", program], tmp_path, PYTHONPATH=os.pathsep.join(sys.path))
    assert "received signal SIGSEGV" in said
    assert "faults.cu:" in said.partition("== where")[2]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_debug_build_computes_the_same(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    monkeypatch.setenv("CXX", compiler)
    wander = [Array("position", "float32", initial=0.0), Array("draws", "uint32", initial=0)]

    def trajectory() -> list[np.ndarray]:
        world = kernel_world("workers.cu", "wander", wander, 5, 50, 2)
        return [array for _ in range(20) for array in run(world, "position", "draws")]

    monkeypatch.delenv("WARPWORLD_KERNELFLAGS", raising=False)
    plain = trajectory()
    monkeypatch.setenv("WARPWORLD_DEBUG", "1")
    debug = trajectory()
    assert np.ptp(plain[-2]) > 0
    for one, other in zip(plain, debug, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_debug_build_has_one_worker_unless_more_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpworld.managers.cpu.backend.available_cores", lambda: 4)
    assert CpuBackend().num_workers == 4
    monkeypatch.setenv("WARPWORLD_DEBUG", "1")
    assert CpuBackend().num_workers == 1
    assert CpuBackend(3).num_workers == 3
    monkeypatch.setenv("WARPWORLD_DEBUG", "0")
    assert CpuBackend().num_workers == 4


def test_another_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWORLD_DEBUG", "yes")
    with pytest.raises(BuildError, match="WARPWORLD_DEBUG='yes': expected 0 or 1"):
        CpuBackend()
