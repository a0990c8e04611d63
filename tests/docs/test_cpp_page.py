"""docs/cpp.md, followed from its first line to its last in an empty folder."""

from __future__ import annotations

import pytest

from tests.docs.pages import page, shown
from tests.docs.reader import ReaderMaker

pytestmark = pytest.mark.cpu_backend


@pytest.mark.heavy
@pytest.mark.long
def test_the_page_can_be_followed(make_reader: ReaderMaker) -> None:
    reader = make_reader("falling", shorter=("trainer.total_env_steps=4096",))
    for block in shown(page("cpp")):
        if block.language != "text":  # attributes of a class
            reader.follow(block)
    assert (reader.folder / "runs").is_dir()
