"""What compilers print of a mistake, as the message that users read: place, text, source line and a caret."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpworld.managers.compiler_errors import explain_failure
from warpworld.managers.kernel_source import KernelSource

LINE = "\tx[0] = speeed * 2.0f;"
GCC = """\
{path}: In function 'void f(float*)':
{path}:2:9: error: 'speeed' was not declared in this scope
    2 |         x[0] = speeed * 2.0f;
      |                ^~~~~~
{path}:3:1: error: something else
"""
CLANG = """\
{path}:2:9: error: use of undeclared identifier 'speeed'
        x[0] = speeed * 2.0f;
               ^
1 error generated.
"""
NVCC = """\
{path}(2): error: identifier "speeed" is undefined
   x[0] = speeed * 2.0f;
          ^

1 error detected in the compilation of "source.cu".
"""
NVRTC = """\
{path}(2): error: identifier "speeed" is undefined
  \tx[0] = speeed * 2.0f;
  \t       ^

1 error detected in the compilation of "source.cu".
"""
PICTURE = "\n  x[0] = speeed * 2.0f;\n         ^"


@pytest.fixture
def source(tmp_path: Path) -> KernelSource:
    path = tmp_path / "my env.cu"
    path.write_text(f"__global__ void f(float* x) {{\n{LINE}\n}}\n")
    return KernelSource(path, path.read_text(), {}, (), ())


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (GCC, "{path}:2:9: 'speeed' was not declared in this scope (and 1 more)" + PICTURE),
        (CLANG, "{path}:2:9: use of undeclared identifier 'speeed'" + PICTURE),
        (NVCC, '{path}:2:9: identifier "speeed" is undefined' + PICTURE),
        (NVCC.replace("error:", "error #20-D:"), '{path}:2:9: identifier "speeed" is undefined' + PICTURE),
        (NVCC.replace("x[0] =", "(*x) ="), '{path}:2:9: identifier "speeed" is undefined' + PICTURE),
        (NVRTC, '{path}:2:9: identifier "speeed" is undefined' + PICTURE),
        (NVCC.replace("(2)", "(1)"), '{path}:1: identifier "speeed" is undefined' + PICTURE),
        (NVCC.replace("{path}(2)", "gone.cu(2)"), 'gone.cu:2: identifier "speeed" is undefined' + PICTURE),
        ("{path}:2:9: fatal error: gone.cuh: No such file\n", "{path}:2:9: gone.cuh: No such file"),
        ("{path}:2:9: error: two\n  words\nand more\n", "{path}:2:9: two"),
        ("ptxas fatal   : Unresolved extern function 'speeed'", "ptxas fatal   : Unresolved extern function 'speeed'"),
    ],
    ids=[
        "g++",
        "clang++",
        "nvcc",
        "nvcc with a number",
        "a macro",
        "NVRTC",
        "another line",
        "no file",
        "no echo",
        "no caret",
        "no place",
    ],
)
def test_messages(source: KernelSource, log: str, message: str) -> None:
    error = explain_failure(source, log.replace("{path}", str(source.path)))
    assert str(error) == message.replace("{path}", str(source.path))
