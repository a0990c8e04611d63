"""A check of kernels that take structs names arrays and lines as it does for plain parameters."""

from __future__ import annotations

import pytest

from tests.checking.planted_worlds import checked, line_of

pytestmark = pytest.mark.cpu_backend


@pytest.mark.parametrize(
    ("kernel", "kind", "array", "index", "mark"),
    [
        ("counts", "race", "hits", (0,), "counts"),
        ("moves", "race", "x", (0, 0), "moves"),
        ("past_its_agents", "out-of-bounds", "x", (100001,), "past the end"),
        ("writes_what_is_const", "read-only", "fixed", (0, 3), "writes_what_is_const"),
    ],
)
def test_one_finding(kernel: str, kind: str, array: str, index: tuple[int, ...], mark: str) -> None:
    findings = [finding for finding in checked("structs.cu", kernel).findings if not finding.note]
    (found,) = [finding for finding in findings if finding.kind == kind]
    assert (found.array, found.index, found.kernel) == (array, index, kernel)
    assert found.place.file.endswith("planted/structs.cu")
    assert found.place.line == line_of("structs.cu", mark)


def test_no_finding() -> None:
    assert checked("structs.cu", "is_clean").findings == ()
