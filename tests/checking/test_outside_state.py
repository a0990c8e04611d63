"""State outside of the store is named, since a check does not follow it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.planted_worlds import PLANTED, checked, line_of
from warpworld.checking.outside_state import OutsideState
from warpworld.checking.places import Place
from warpworld.managers.cpu.host_compiler import find_compiler

pytestmark = [
    pytest.mark.cpu_backend,
    pytest.mark.skipif(bool(find_compiler().link_command), reason="zig links no C++ library"),
]

SOURCE = "outside_state.cu"
FILE = str(PLANTED / SOURCE)


def test_each_variable_is_named_in_one_line_and_nothing_else_is_found_in_it() -> None:
    report = checked(SOURCE, "step")
    assert report.findings == () and not report.stopped
    assert [(state.name, state.is_library) for state in report.not_followed] == [
        ("history", True),
        ("counts", True),
        ("kept", True),
        ("last", False),
        ("seen", True),
    ]
    assert [state.place.line for state in report.not_followed] == [
        line_of(SOURCE, state.name) for state in report.not_followed
    ]
    assert report.clean  # it is a note


def test_the_lines_say_what_it_is_and_what_to_do() -> None:
    report = checked(SOURCE, "step")
    printed = [line for line in str(report).splitlines() if "does not follow" in line]
    assert len(printed) == 5
    assert printed[0].endswith(
        f"{SOURCE}:{line_of(SOURCE, 'history')}: the check does not follow 'history', an object of the C++ library, "
        "which all envs share: declare an Array"
    )
    assert "'last', a static variable of a function, which all envs share" in printed[3]


def test_json_has_them_too() -> None:
    first, *_ = checked(SOURCE, "step").as_dict()["not_followed"]
    place = {"file": FILE, "line": line_of(SOURCE, "history")}
    assert first == {"place": place, "name": "history", "is_library": True, "is_shared": True}


def test_variables_of_an_included_file_are_named_there(tmp_path: Path) -> None:
    (tmp_path / "table.cuh").write_text("#include <vector>\ninline std::vector<int> table(4);\n")
    path = tmp_path / "uses.cu"
    path.write_text(
        '#include <warpworld.cuh>\n#include "table.cuh"\n'
        'extern "C" __global__ void step(float* x) { if (is_active()) x[agent_index()] = (float)table[0]; }\n'
    )
    (state,) = checked(path, "step").not_followed
    assert state == OutsideState(Place(str(tmp_path / "table.cuh"), 2), "table", True)


def test_constants_and_device_variables_are_followed() -> None:
    assert checked("races.cu", "device_variable").not_followed == ()
