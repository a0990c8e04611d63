"""What the tests' kernels include is precompiled, and g++ takes it."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.precompiled import use_precompiled_headers
from warpworld.managers.cpu.host_compiler import find_compiler, kernel_flags

pytestmark = pytest.mark.cpu_backend


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("CXX", "")  # so that it is restored
    monkeypatch.delenv("CXX")
    if Path(find_compiler().command[0]).name != "g++":
        pytest.skip("needs g++")
    use_precompiled_headers()
    return shlex.split(os.environ["CXX"])


def test_a_kernel_reads_no_text_of_them(words: list[str], tmp_path: Path) -> None:
    source = tmp_path / "kernel.cpp"
    source.write_text("#include <math.h>\n#include <stdio.h>\nfloat root(float x) { return std::sqrt(x); }\n")
    command = [*words, *find_compiler().all_flags(kernel_flags()), "-H", "-fsyntax-only", str(source)]
    read = subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()
    assert read[0] == f"! {words[-1]}.gch"
    assert not [line for line in read if line.startswith("..")]  # guards end what is opened again


def test_a_compiler_that_is_named_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "g++ -Wall")
    use_precompiled_headers()
    assert os.environ["CXX"] == "g++ -Wall"
