"""The garbage collector around a command: off while it starts, as it was when it has ended."""

from __future__ import annotations

import gc

import pytest

from warpworld.cli.garbage import collect_from_here, collected_later


def test_garbage_is_left_while_a_command_starts_and_collected_from_there_on() -> None:
    with collected_later():
        assert not gc.isenabled()
        collect_from_here()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_a_mistake_leaves_the_collector_as_it_was() -> None:
    with pytest.raises(ValueError, match="wrong"), collected_later():
        raise ValueError("wrong")
    assert gc.isenabled()
