"""Names of a group's actions, and keys that stand for them: what a replay gets, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space

from warpworld import Group
from warpworld.environment import environment_names, get_environment, keys_of_heads, names_of_choices, names_of_heads
from warpworld.errors import DeclarationError

SEEN = Box(-1.0, 1.0, (1,))
TWO = MultiDiscrete([2, 3])


def test_names_become_a_tuple() -> None:
    names: Any = ["left", "right"]
    assert Group("a", 1, SEEN, Discrete(2), action_names=names).action_names == ("left", "right")
    assert Group("a", 1, SEEN, Discrete(2)).action_names is None


@pytest.mark.parametrize("names", [("left",), "lr", (1, 2), 3])
def test_wrong_names_are_refused(names: Any) -> None:
    with pytest.raises(DeclarationError) as raised:
        Group("a", 1, SEEN, Discrete(2), action_names=names)
    assert str(raised.value) == f"group 'a': action_names={names!r}, expected 2 texts, one for each choice"


@pytest.mark.parametrize(
    ("action", "names", "keys"),
    [
        (Discrete(2), ("no", "yes"), ("", "y")),
        (TWO, (("no", "yes"), ("a", "b", "c")), (("", "y"), ("1", "2", "3"))),
        (MultiBinary(2), (("off", "on"), ("shut", "open")), (("", "q"), ("", "w+q"))),
        (Box(np.zeros(2, np.float32), np.ones(2, np.float32)), (("a", "b"), ("c", "d")), (("left", "right"), ("", ""))),
    ],
)
def test_names_and_keys_by_head(action: Space, names: Any, keys: Any) -> None:
    group = Group("a", 1, SEEN, action, action_names=names, action_keys=keys)
    heads = (names,) if isinstance(action, Discrete) else names
    assert names_of_heads(group) == heads
    assert keys_of_heads(group) == ((keys,) if isinstance(action, Discrete) else keys)
    assert names_of_choices(group) == (() if isinstance(action, Box) else heads)


def test_a_group_without_names_has_no_heads() -> None:
    assert names_of_heads(Group("a", 1, SEEN, TWO)) == keys_of_heads(Group("a", 1, SEEN, TWO)) == ()


@pytest.mark.parametrize(
    ("action", "names", "expected"),
    [
        (TWO, ("no", "yes"), "2 tuples of texts, each for its choices"),
        (TWO, (("no", "yes"), ("a", "b")), "2 tuples of texts, each for its choices"),
        (SEEN, ("left", "right"), "1 tuple of texts, each for its lowest and its highest value"),
        (SEEN, (("left", "none", "right"),), "1 tuple of texts, each for its lowest and its highest value"),
    ],
)
def test_wrong_names_of_heads_are_refused(action: Space, names: Any, expected: str) -> None:
    with pytest.raises(DeclarationError) as raised:
        Group("a", 1, SEEN, action, action_names=names)
    assert str(raised.value) == f"group 'a': action_names={names!r}, expected {expected}"


def test_nested_actions_have_no_names() -> None:
    with pytest.raises(DeclarationError, match="action_names are for a Discrete, MultiDiscrete, MultiBinary or Box, "):
        Group("a", 1, SEEN, Dict({"move": Discrete(2)}), action_names=("left", "right"))


# ---- keys ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (("a", "a"), "action_keys has 'a' for 'no' and for 'yes', expected a key of its own for each choice"),
        (("up+a", "a+up"), "action_keys has 'a+up' for 'no' and for 'yes', expected a key of its own"),
        (("a",), "action_keys=('a',), expected 2 texts, one for each choice"),
        (("a", "A"), "action_keys has 'A', expected a lower-case letter, a digit, one of , . ; / - = or left, right,"),
        (("a", "ArrowLeft"), "action_keys has 'ArrowLeft', expected a lower-case letter"),
        (("a", "lefft"), "Did you mean 'left'?"),
        (("a", "up+"), "action_keys has 'up+', expected a lower-case letter"),
        (("a", "\u00e9"), "action_keys has '\u00e9', expected a lower-case letter"),
    ],
)
def test_wrong_keys_are_refused(keys: tuple[str, ...], message: str) -> None:
    with pytest.raises(DeclarationError) as raised:
        Group("a", 1, SEEN, Discrete(2), action_names=("no", "yes"), action_keys=keys)
    assert str(raised.value).startswith("group 'a': ") and message in str(raised.value)


def test_keys_of_two_heads_do_not_collide() -> None:
    names, keys = (("no", "yes"), ("a", "b", "c")), (("", "y"), ("", "x", "y"))
    with pytest.raises(DeclarationError, match="action_keys has 'y' for 'yes' and for 'c'"):
        Group("a", 1, SEEN, TWO, action_names=names, action_keys=keys)


def test_keys_need_names() -> None:
    with pytest.raises(DeclarationError, match="group 'a': action_keys without action_names, expected names of the ch"):
        Group("a", 1, SEEN, Discrete(2), action_keys=("a", "b"))


PLAYED = (
    *(
        "acrobot",
        "battle",
        "cartpole",
        "chain",
        "coin_game",
        "coins",
        "connect_four",
        "deathmatch",
        "explorer",
        "foraging",
    ),
    *(
        "hide_and_seek",
        "kuhn_poker",
        "leduc_poker",
        "minatar_asterix",
        "minatar_breakout",
        "minatar_freeway",
        "minatar_seaquest",
    ),
    *("minatar_space_invaders", "mountain_car", "mountain_car_continuous", "overcooked", "particles_adversary"),
    *("particles_push", "particles_pursuit", "particles_simple", "particles_spread", "pendulum"),
    *("phantom_tic_tac_toe", "point_goal", "skirmish", "switch_riddle", "tag_continuous"),
    *("tag_gridworld", "tic_tac_toe", "warehouse"),
    "waypoint",
)


@pytest.mark.long
def test_packaged_environments_that_have_keys() -> None:
    found = []
    for name in set(environment_names()) - {"atari", "external"}:  # of which the games and the library decide
        groups = get_environment(name)().groups()
        if all(group.action_keys is not None for group in groups):
            found.append(name)
    assert sorted(found) == sorted(PLAYED)
