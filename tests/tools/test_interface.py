"""docs/interface.txt lists the public names that the code has."""

from __future__ import annotations

import difflib

import pytest

from tools.write_interface import FILE, interface

pytestmark = pytest.mark.cpu_backend


@pytest.mark.heavy
@pytest.mark.long
def test_public_names_are_those_that_are_listed() -> None:
    listed, found = FILE.read_text(encoding="utf-8"), interface()
    difference = difflib.unified_diff(listed.splitlines(), found.splitlines(), "listed", "found", lineterm="", n=0)
    assert listed == found, "python -m tools.write_interface\n" + "\n".join(difference)
