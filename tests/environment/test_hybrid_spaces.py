"""Actions in a Dict or Tuple become an array for each part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Text, Tuple

from tests.hybrid import ACTION, HEADS, NAMES, HybridPair
from tests.toys import agents, box, environment
from warpworld.environment import (
    Group,
    action_arrays,
    action_bounds,
    action_heads,
    action_layout,
    action_names,
    nested_actions,
    placed_groups,
)
from warpworld.errors import DeclarationError

TUPLE = Tuple([Box(-1.0, 1.0, (2, 2)), MultiDiscrete([[2, 3], [4, 5]])])


def placed(*groups: Group) -> dict[str, Group]:
    return placed_groups(environment(None, groups=groups))


def acting(space: Space, name: str = "agent", size: int = 2) -> Group:
    return Group(name, size, box(1), space)


def test_each_part_is_an_array() -> None:
    arrays = action_arrays(placed(acting(ACTION)))
    assert [(array.name, array.dtype, array.full_shape(7, 2)) for array in arrays] == [
        ("actions_arm_grip", "int32", (7, 2, 2)),
        ("actions_arm_reach", "float32", (7, 2, 2)),
        ("actions_move", "int32", (7, 2, 1)),
    ]
    assert [array.name for array in arrays] == NAMES and all(array.read_only for array in arrays)
    assert action_heads(ACTION) == HEADS
    assert action_layout(ACTION) == ("float32", 5)


def test_a_tuple_has_numbers_for_names_and_its_parts_are_flat() -> None:
    arrays = action_arrays(placed(acting(TUPLE)))
    assert {array.name: array.full_shape(7, 2) for array in arrays} == {"actions_0": (7, 2, 4), "actions_1": (7, 2, 4)}
    assert action_heads(TUPLE) == (2, 3, 4, 5)


def test_groups_that_act_in_other_ways_have_arrays_of_their_own() -> None:
    groups = placed(*HybridPair().groups())
    names = [array.name for array in action_arrays(groups)]
    assert names == ["actions_goer", "actions_arm_arm_grip", "actions_arm_arm_reach", "actions_arm_move"]
    assert action_names(groups, groups["goer"]) == {"": "actions_goer"}
    shared = action_arrays(placed(acting(ACTION, "one"), acting(ACTION, "two")))
    assert [array.name for array in shared] == NAMES


def test_bounds_are_those_of_each_part() -> None:
    bounds = action_bounds(placed(acting(ACTION)))
    assert bounds["actions_move"] == ((0, 0), (2, 2), (1, 1))
    assert bounds["actions_arm_reach"] == ((-2, 0) * 2, (2, 1) * 2, (0, 0) * 2)


def test_actions_are_nested_as_their_space_is() -> None:
    entries = {
        "arm_grip": np.array([[1, 0]], np.int32),
        "arm_reach": np.array([[-2.0, 1.0]], np.float32),
        "move": np.array([[2]], np.int32),
    }
    action = nested_actions(ACTION, entries)
    assert action["move"].tolist() == [3] and action["arm"]["grip"].dtype == np.int8
    assert action["arm"]["reach"].tolist() == [[-2.0, 1.0]]


def test_a_group_owns_every_part_of_its_space() -> None:
    part = Discrete(3)
    own: Any = Group("agent", 1, box(1), Tuple([part, part, Dict({"same": part})])).action
    assert len({id(part), id(own[0]), id(own[1]), id(own[2]["same"])}) == 4


SAYING = Dict({"go": Discrete(2), "say": Text(3)})
HEADED = "expected Discrete, MultiDiscrete, MultiBinary or a Box of float32, of at least one number"


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (
            Dict({"go": Discrete(2), "say": Text(3)}),
            f"part ['say'] is {Text(3)}, for which a policy has no head; {HEADED}",
        ),
        (
            Dict({"go": Tuple([Box(0, 3, (2,), np.int32)])}),
            f"part ['go'][0] is {Box(0, 3, (2,), np.int32)}, for which a policy has no head; {HEADED}",
        ),
        (Tuple([Discrete(2), Box(-1.0, 1.0, (0,))]), f"for which a policy has no head; {HEADED}"),
        (Tuple([MultiBinary(2), Box(-1.0, 1.0, (2,), np.float64)]), f"for which a policy has no head; {HEADED}"),
        (
            Dict({}),
            "it has no parts, expected at least one of Discrete, MultiDiscrete, MultiBinary or a Box",
        ),
        (Dict({"go to": Discrete(2)}), "key 'go to', expected keys of letters, digits and underscores, as array names"),
        (
            Dict({"a": Dict({"b": Discrete(2)}), "a_b": Discrete(2)}),
            "two parts make the array name 'a_b'; rename a key",
        ),
    ],
)
def test_refused(space: Space, message: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        action_arrays(placed(acting(space)))
    assert str(refused.value).startswith(f"action space {space}: ") and message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_groups_and_keys_that_make_the_same_name_are_refused() -> None:
    groups = placed(acting(Dict({"b_c": Discrete(2)}), "a"), acting(Dict({"c": Discrete(3)}), "a_b"), agents(name="x"))
    with pytest.raises(DeclarationError, match="two groups' actions make the array 'actions_a_b_c'; rename a group or"):
        action_arrays(groups)
