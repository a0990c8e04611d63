"""docs/data.md, followed from its first line to its last in an empty folder."""

from __future__ import annotations

import pytest

from tests.docs.pages import page, shown
from tests.docs.reader import ReaderMaker

pytestmark = pytest.mark.cpu_backend


@pytest.mark.heavy
@pytest.mark.long
def test_the_page_can_be_followed(make_reader: ReaderMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("minari", reason="needs minari and pyarrow: make peers")
    monkeypatch.setenv("MINARI_DATASETS_PATH", "set by the page")
    reader = make_reader(one_session=True, shorter=("trainer.total_env_steps=40000",))
    for block in shown(page("data")):
        reader.follow(block)
