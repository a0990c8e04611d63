"""What a person chooses from: names, keys and values of each part of an action, and the agent that is played."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

from tests.cli.play.named_worlds import Walkers
from tests.report.recorded_worlds import SPACE
from warpworld import World
from warpworld.cli.play.controls import Head, heads_of
from warpworld.cli.play.seats import find_seat
from warpworld.environment import Group, get_environment, placed_groups
from warpworld.errors import RunError

pytestmark = pytest.mark.cpu_backend


def heads(action: Any, names: Any = None, keys: Any = None) -> tuple[Head, ...]:
    return heads_of(Walkers(), Group("a", 1, SPACE, action, action_names=names, action_keys=keys))


def test_a_choice_without_a_key_rests() -> None:
    (moves,) = heads(Discrete(3), ("stay", "left", "jump left"), ("", "left", "left+space"))
    assert moves == Head(("stay", "left", "jump left"), ("", "left", "left+space"), (0.0, 1.0, 2.0), rests=True)
    assert moves.as_json()["keys"] == [[], ["left"], ["left", "space"]]
    (sides,) = heads(Discrete(2), ("left", "right"), ("left", "right"))
    assert not sides.rests


def test_names_without_keys_get_digits_then_letters_then_none() -> None:
    (many,) = heads(Discrete(40), tuple(f"card {i}" for i in range(40)))
    assert (many.keys[:2], many.keys[9:11], many.keys[35:37]) == (("1", "2"), ("0", "a"), ("z", ""))
    assert not many.rests


def test_each_part_has_a_head_of_its_own() -> None:
    first, second = heads(MultiDiscrete([2, 2]), (("no", "yes"), ("a", "b")), (("", "y"), ("1", "2")))
    assert (first.names, first.rests, second.names, second.rests) == (("no", "yes"), True, ("a", "b"), False)
    space = Box(np.array([-2.0, 1.0], np.float32), np.array([4.0, 3.0], np.float32))
    low, high = heads(space, (("a", "b"), ("c", "d")), (("left", "right"), ("", "up")))
    assert low == Head(("a", "none", "b"), ("left", "", "right"), (-2.0, 0.0, 4.0), rests=True)
    assert high.values == (1.0, 2.0, 3.0)  # 0 lies outside


UNNAMED = "have no names, expected action_names and action_keys of a Discrete, MultiDiscrete, MultiBinary or Box where "


@pytest.mark.parametrize(
    ("action", "names", "message"),
    [
        (Discrete(2), None, f"{UNNAMED}the environment declares the group"),
        (Dict({"a": Discrete(2)}), None, "of a Dict or Tuple cannot be played, expected action_names"),
        (MultiDiscrete([2, 2]), (("a", "b"), ("c", "d")), "of 2 parts have no keys, expected action_keys beside"),
        (SPACE, (("a", "b"),), "an action from -inf to inf has no keys to play it, expected finite ends"),
    ],
)
def test_actions_that_cannot_be_played(action: Any, names: Any, message: str) -> None:
    with pytest.raises(RunError) as raised:
        heads(action, names)
    assert str(raised.value).startswith("Walkers: group 'a': ") and message in str(raised.value)


@pytest.mark.parametrize(
    "name", ["chain", "coins", "epidemic", "hide_and_seek", "recall", "signalling", "switch_riddle"]
)
def test_packaged_environments_can_be_played(name: str) -> None:
    environment = get_environment(name)()
    for group in environment.groups():
        for head in heads_of(environment, group):
            assert len(set(head.names)) == len(head.names) and head.keys.count("") <= 1, head


@pytest.mark.parametrize("army", ["red", "blue"])
def test_battle_s_keys_move_on_the_map_as_they_say(army: str) -> None:
    """Red's and blue's actions mirror each other, and pictures do not."""
    environment = get_environment("battle")(army_size=1)
    world = World(environment, 1, "cpu", num_workers=1)
    world.reset()
    (head,) = heads_of(environment, world.groups[army])
    assert head.rests and head.names[head.keys.index("")] == "stay"
    side = world.data.array("cells").shape[0] ** 0.5
    for key, (x, y) in {"left": (-1, 0), "up+right": (1, -1), "k": (0, 2), "j": (-2, 0)}.items():
        before = int(world["place"][0, world.groups[army].first])
        world["actions"][0, :] = head.keys.index("")  # both armies' tables have it in the same place
        world["actions"][0, world.groups[army].first] = head.keys.index(key)
        world.step()
        assert int(world["place"][0, world.groups[army].first]) - before == x + y * side, key


def test_another_library_s_env_cannot_be_played() -> None:
    from warpworld.adapters.external.external import External

    environment = External(id="CartPole-v1")
    with pytest.raises(RunError) as raised:
        heads_of(environment, environment.groups()[0])
    assert str(raised.value) == (
        "external: group 'agent': another library's env gives its actions no names or keys, so it cannot be played; "
        "expected a packaged environment with names, such as tag_gridworld, or one of your own: docs/play.md"
    )


# ---- the agent that is played ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("wanted", "agent", "name"),
    [(None, 0, "left 0"), ("left", 0, "left 0"), ("left:1", 1, "left 1"), ("2", 2, "right")],
)
def test_seats(wanted: str | None, agent: int, name: str) -> None:
    seat = find_seat(placed_groups(Walkers()), wanted)
    assert (seat.agent, seat.name) == (agent, name)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("rigth", "--as rigth: there is no group 'rigth'. Did you mean 'right'? Groups: left, right"),
        ("left:2", "--as left:2: expected an agent from left:0 to left:1"),
        ("left:", "--as left:: expected an agent from left:0 to left:1"),
        ("3", "--as 3: expected a group, or an agent from 0 to 2"),
    ],
)
def test_seats_that_there_are_not(wanted: str, message: str) -> None:
    with pytest.raises(RunError) as raised:
        find_seat(placed_groups(Walkers()), wanted)
    assert str(raised.value) == message
