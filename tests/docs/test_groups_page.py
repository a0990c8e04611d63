"""docs/groups.md, followed from its first line to its last in an empty folder."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import page, shown
from tests.docs.reader import ReaderMaker

pytestmark = pytest.mark.cpu_backend


@pytest.mark.usefixtures("optimised")
@pytest.mark.heavy
@pytest.mark.long
def test_the_page_can_be_followed(make_reader: ReaderMaker) -> None:
    reader = make_reader("yard", "flock", one_session=True)
    for block in shown(page("groups")):
        reader.follow(block)
        if reader.last == "eval":
            check_the_lesson(reader.printed)
    assert len(list((reader.folder / "runs").iterdir())) == 1


def check_the_lesson(table: str) -> None:
    """Each group does better than at random while the others act at random."""
    for group, gain in (("fox", 2.0), ("hen", 1.0)):
        row = re.search(rf"^{group} .*$", table, re.MULTILINE)
        assert row is not None
        *_, at_random, others_at_random = (float(number) for number in re.findall(r"-?\d+\.\d+", row[0]))
        assert others_at_random > at_random + gain
