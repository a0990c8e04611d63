"""What is undefined in C++ is found, with what was computed; what is defined is not."""

from __future__ import annotations

import importlib.util
import shutil
import sys

import pytest

from tests.checking.planted_worlds import checked, line_of
from warpworld.checking import Report

pytestmark = pytest.mark.cpu_backend

UNDEFINED = [
    ("shift", 1, "shifts a value of type int by 32 places"),
    ("shift_by_less_than_nothing", 0, "shifts a value of type unsigned int by -1 places"),
    ("sum", 2, "computes 2 + 2147483647, which overflows int"),
    ("difference", 2, "computes -2147483647 - 2, which overflows int"),
    ("product", 0, "computes 2 * 1103515245, which overflows int"),
    ("negative", 0, "computes -(-2147483648), which overflows int"),
    ("quotient", 1, "computes 10 / 0"),
    ("remainder_of", 1, "computes 10 / 0"),
    ("float_to_int", 3, "makes 1.00000002e+20 a value of type int, which cannot hold it"),
    ("not_a_number_to_int", 3, "makes nan a value of type int, which cannot hold it"),
    ("less_than_nothing", 1, "makes -2.5 a value of type unsigned int, which cannot hold it"),
    ("local_array", 2, "takes index 5 of an array of type float[4]"),
    ("written_local_array", 2, "takes index -2 of an array of type float[4]"),
    ("far_from_a_local_array", 2, "takes index 100000002 of an array of type float[4]"),
    ("member_array", 0, "takes index 4 of an array of type float[4]"),
    ("constant_table", 3, "takes index 3 of an array of type int[3]"),
    ("rows", 0, "takes index 4 of an array of type float[4]"),
    ("vector", 1, "takes x[env 0, agent 1] for a value of type float2, whose address must be a multiple of 8 bytes"),
    ("null", 2, "follows a null pointer"),
    ("no_return", 3, "reaches the end of a function that should return a value"),
    ("not_a_bool", 1, "reads 2 as a value of type bool"),
]
OVERWRITING = ("written_local_array", "member_array")  # what comes of it is anybody's guess
ENDING = ("quotient", "remainder_of", "far_from_a_local_array", "null", "no_return")


def assert_found(report: Report, kernel: str, agent: int, words: str) -> None:
    (finding,) = report.findings
    assert (finding.kind, finding.kernel, finding.env, finding.agents) == ("undefined", kernel, 0, (agent,)), finding
    assert finding.message == f"kernel '{kernel}', env 0: agent {agent} {words}"
    assert finding.place.line == line_of("undefined.cu", kernel)
    if kernel not in OVERWRITING:
        assert bool(report.stopped) == (kernel in ENDING)


@pytest.mark.parametrize(("kernel", "agent", "words"), UNDEFINED, ids=[kernel for kernel, _, _ in UNDEFINED])
def test_what_is_undefined_is_told_with_what_was_computed(kernel: str, agent: int, words: str) -> None:
    assert_found(checked("undefined.cu", kernel), kernel, agent, words)


def test_what_is_defined_on_a_gpu_is_not_told() -> None:
    report = checked("undefined.cu", "defined")
    assert report.findings == (), str(report)


def test_an_index_of_shared_memory_is_told_once_by_the_arrays_name() -> None:
    (finding,) = checked("bounds.cu", "shared_end").findings
    assert (finding.kind, finding.array, finding.index) == ("out-of-bounds", "row", (4,))


OTHERS = {
    "clang++": ("clang++", shutil.which("clang++")),
    "zig": (f"{sys.executable} -m ziglang c++", importlib.util.find_spec("ziglang")),
}


@pytest.mark.slow
@pytest.mark.parametrize("compiler", OTHERS)
def test_other_compilers_tell_the_same(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command, here = OTHERS[compiler]
    if here is None:
        pytest.skip(f"needs {compiler}")
    monkeypatch.setenv("CXX", command)
    for kernel, agent, words in UNDEFINED:
        assert_found(checked("undefined.cu", kernel), kernel, agent, words)
    assert checked("undefined.cu", "defined").findings == ()
