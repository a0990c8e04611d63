"""One barrier that is missing is one finding, however many lines race for want of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.checking.planted_worlds import PLANTED, checked, line_of
from warpworld.checking import Finding
from warpworld.checking.barriers import joined
from warpworld.checking.places import Place
from warpworld.checking.source_tree import read_sources

pytestmark = pytest.mark.cpu_backend
SOURCE = "one_barrier.cu"


def line(mark: str) -> int:
    return line_of(SOURCE, mark)


def lines_of(finding: Finding) -> list[tuple[int, int]]:
    """The pairs of lines that a finding is about, its own first."""
    assert finding.other is not None
    own = sorted((finding.place.line, finding.other.line))
    return [(own[0], own[1]), *((one.line, other.line) for one, other in finding.also)]


@pytest.mark.parametrize(
    ("kernel", "behind", "before", "pairs"),
    [
        (
            "in_functions",
            "in_functions behind",
            "in_functions before",
            [("row placed", "row seen"), ("marks placed", "marks seen")],
        ),
        (
            "with_a_note",
            "with_a_note",
            "with_a_note before",
            [("with_a_note", "with_a_note before"), ("with_a_note note", "with_a_note before")],
        ),
    ],
)
def test_it_is_told_with_the_lines_of_the_kernel_between_which_it_belongs(
    kernel: str, behind: str, before: str, pairs: list[tuple[str, str]]
) -> None:
    (finding,) = checked(SOURCE, kernel).findings
    assert (finding.kind, finding.note, finding.kernel) == ("race", False, kernel)
    assert lines_of(finding) == [(line(one), line(other)) for one, other in pairs]
    assert finding.advice == (f"put sync_env() between lines {line(behind)} and {line(before)}: it orders all of them")
    second = f"{line(pairs[1][0])} and {line(pairs[1][1])}"
    assert finding.message.endswith(f"; without the same barrier these lines race too: {second}")


def test_two_barriers_are_two_findings() -> None:
    findings = checked(SOURCE, "two_missing").findings
    places = [re.findall(r"between lines (\d+) and (\d+):", finding.advice) for finding in findings]
    assert places == [
        [(str(line("two_missing hits written")), str(line("two_missing both read")))],
        [(str(line("two_missing points written")), str(line("two_missing all read")))],
    ]


def test_one_at_the_end_of_a_loop() -> None:
    (finding,) = checked(SOURCE, "around_a_loop").findings
    assert lines_of(finding) == [
        (line("around_a_loop row"), line("around_a_loop row read")),
        (line("around_a_loop marks"), line("around_a_loop before")),
    ]
    assert finding.advice == (
        f"put sync_env() after line {line('around_a_loop before')} too, before the loop repeats: it orders all of them"
    )


def test_one_in_a_function_that_the_kernel_calls_once() -> None:
    (finding,) = checked(SOURCE, "within_a_function").findings
    between = f"between lines {line('within_a_function behind')} and {line('within_a_function before')}"
    assert finding.advice == f"put sync_env() {between}: it orders all of them"


def test_agents_that_compete_for_an_element_are_told_each_for_itself() -> None:
    findings = checked(SOURCE, "competing").findings
    assert [(finding.array, finding.place.line, finding.also) for finding in findings] == [
        ("hits", line("competing hits read"), ()),
        ("owner", line("competing owner read"), ()),
        ("hits", line("competing hits"), ()),
        ("owner", line("competing owner"), ()),
    ]
    assert "atomic" in findings[2].advice and "atomic" in findings[3].advice


def test_the_other_lines_are_in_the_json_too() -> None:
    (finding,) = checked(SOURCE, "in_functions").findings
    file = str(PLANTED / SOURCE)
    pair = [{"file": file, "line": line("marks placed")}, {"file": file, "line": line("marks seen")}]
    assert [list(places) for places in finding.as_dict()["also"]] == [pair]


WIDE = """\
#include <warpworld.cuh>
#include "wide.cuh"
extern "C" __global__ void wide(const float* x, float* y) {
  if (!is_active()) return;
  ENV_SHARED(Wide, field, 1);
  put(field[0], x[agent_index()]);
  const int other = (agent_id() + 1) % NUM_AGENTS;
  y[agent_index()] = field[0].a[other] + field[0].b[other] + field[0].c[other] + field[0].d[other] + field[0].e[other];
}
"""
WIDE_HEADER = """\
struct Wide { float a[NUM_AGENTS], b[NUM_AGENTS], c[NUM_AGENTS], d[NUM_AGENTS], e[NUM_AGENTS]; };
__device__ void put(Wide& wide, float x) {
  wide.a[agent_id()] = x;
  wide.b[agent_id()] = x;
  wide.c[agent_id()] = x;
  wide.d[agent_id()] = x;
  wide.e[agent_id()] = x;
}
"""


@pytest.mark.long
def test_lines_of_other_files_are_named_with_theirs_and_of_many_pairs_three(tmp_path: Path) -> None:
    (tmp_path / "wide.cuh").write_text(WIDE_HEADER)
    (tmp_path / "wide.cu").write_text(WIDE)
    (finding,) = checked(tmp_path / "wide.cu", "wide").findings
    assert (finding.place, len(finding.also)) == (Place(str(tmp_path / "wide.cuh"), 3), 4)
    assert finding.message.endswith("race too: wide.cu:8 and 4, wide.cu:8 and 5, wide.cu:8 and 6, 1 more")
    assert finding.advice == "put sync_env() between lines 6 and 8: it orders all of them"


def race(path: Path, one: int, other: int, note: bool = False) -> Finding:
    """Of two lines of a kernel, in an array of its own."""
    places = (Place(str(path), one), Place(str(path), other))
    array = f"array_{one}_{other}"
    return Finding(
        "race", places[0], "races", "mend it", note, kernel="step", array=array, other=places[1], sites=places
    )


def test_a_race_that_ends_where_another_begins_needs_a_barrier_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "step.cu"
    path.write_text("\n" * 9)
    apart = [race(path, 2, 4), race(path, 4, 6)]
    assert list(joined(apart, read_sources([path]))) == apart
    (finding,) = joined([race(path, 2, 5), race(path, 4, 6)], read_sources([path]))
    assert finding.advice == "put sync_env() between lines 4 and 5: it orders all of them"


def test_notes_alone_are_not_joined(tmp_path: Path) -> None:
    path = tmp_path / "step.cu"
    path.write_text("\n" * 9)
    notes = [race(path, 2, 5, note=True), race(path, 3, 6, note=True)]
    assert list(joined(notes, read_sources([path]))) == notes
    (finding,) = joined([*notes, race(path, 4, 7)], read_sources([path]))
    assert not finding.note and finding.place.line == 4 and len(finding.also) == 2
