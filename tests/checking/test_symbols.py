"""Names of variables in compiled modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.planted_worlds import planted
from warpworld import World
from warpworld.checking.check_backend import CheckBackend
from warpworld.checking.symbols import assignments_of, plain_name, variables_of


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("counter", "counter"),
        ("_ZL7counter", "counter"),
        ("_ZZ12plain_sharedE4line", "line"),
        ("_ZZL5totalILi4EEfPKfE4part_0", "part"),
        ("_ZN3own5placeE", "place"),
        ("_ZN3own6x12345E", "x12345"),
    ],
)
def test_the_last_name_of_a_symbol_is_the_authors(symbol: str, name: str) -> None:
    assert plain_name(symbol) == name


@pytest.mark.cpu_backend
def test_variables_of_a_module_are_the_authors() -> None:
    backend = CheckBackend()
    World(planted("races.cu", "correct"), 2, backend=backend)
    assert backend.module is not None
    found = {variable.name: variable for variable in variables_of(backend.module.path)}
    assert set(found) - {"warpSize", "LANES_SIDE_BY_SIDE"} == {"counter", "line"}  # two constants of the header
    assert (found["counter"].nbytes, found["counter"].thread_local) == (4, False)
    assert (found["line"].nbytes, found["line"].thread_local) == (16, True)


def test_another_file_has_none(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"MZ and something else")
    assert variables_of(tmp_path / "other") == []
    assert assignments_of(tmp_path / "other") == []
