"""Names of a group's actions: what a replay gets, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from gymnasium.spaces import Box, Discrete

from warpworld import Group
from warpworld.errors import DeclarationError

SEEN = Box(-1.0, 1.0, (1,))


def test_names_become_a_tuple() -> None:
    names: Any = ["left", "right"]
    assert Group("a", 1, SEEN, Discrete(2), action_names=names).action_names == ("left", "right")
    assert Group("a", 1, SEEN, Discrete(2)).action_names is None


@pytest.mark.parametrize("names", [("left",), "lr", (1, 2), 3])
def test_wrong_names_are_refused(names: Any) -> None:
    with pytest.raises(DeclarationError) as raised:
        Group("a", 1, SEEN, Discrete(2), action_names=names)
    assert str(raised.value) == f"group 'a': action_names={names!r}, expected 2 texts, one for each choice"


def test_only_choices_have_names() -> None:
    with pytest.raises(DeclarationError, match="action_names are for a Discrete, and action is Box"):
        Group("a", 1, SEEN, SEEN, action_names=("left",))
