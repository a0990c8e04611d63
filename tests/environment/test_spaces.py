"""Groups' spaces become arrays, their names and the kernels' constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text

from tests.toys import agents, box, environment
from warpworld.environment import Group, placed_groups
from warpworld.environment.spaces import (
    action_arrays,
    action_heads,
    action_layout,
    group_suffix,
    observation_arrays,
    observation_names,
    observation_shapes,
    space_constants,
)
from warpworld.errors import DeclarationError

SIGHT = Dict({"eye": box(8, 8), "ear": box(3)})


def placed(*groups: Group) -> dict[str, Group]:
    return placed_groups(environment(None, groups=groups))


def layout(groups: dict[str, Group], num_envs: int = 7) -> dict[str, tuple[int, ...]]:
    num_agents = sum(group.size for group in groups.values())
    arrays = [*observation_arrays(groups), *action_arrays(groups)]
    return {array.name: array.full_shape(num_envs, num_agents) for array in arrays}


def test_one_layout_for_all_groups() -> None:
    groups = placed(agents(2, "fox", 6, 4), agents(3, "hen", 6, 9))  # other choices are no other layout
    assert layout(groups) == {"observations": (7, 5, 6), "actions": (7, 5, 1)}
    assert observation_names(groups, groups["hen"]) == {"": "observations"}
    assert group_suffix(groups, groups["hen"], "actions") == ""
    assert space_constants(groups) == {
        "FOX_FIRST": 0,
        "FOX_COUNT": 2,
        "HEN_FIRST": 2,
        "HEN_COUNT": 3,
        "OBSERVATION_SIZE": 6,
    }


def test_groups_that_see_differently() -> None:
    groups = placed(agents(2, "fox", 6), agents(3, "hen", 4))
    assert layout(groups) == {"observations_fox": (7, 2, 6), "observations_hen": (7, 3, 4), "actions": (7, 5, 1)}
    constants = space_constants(groups)
    assert (constants["OBSERVATION_SIZE_FOX"], constants["OBSERVATION_SIZE_HEN"]) == (6, 4)
    assert "OBSERVATION_SIZE" not in constants


def test_groups_that_act_differently() -> None:
    fox = Group("fox", 2, box(4), MultiDiscrete([3, 5]))
    hen = Group("hen", 3, box(4), Box(-1.0, 1.0, (2,)))
    groups = placed(fox, hen)
    assert layout(groups) == {"observations": (7, 5, 4), "actions_fox": (7, 2, 2), "actions_hen": (7, 3, 2)}
    assert {array.name: array.dtype for array in action_arrays(groups)} == {
        "actions_fox": "int32",
        "actions_hen": "float32",
    }


def test_dict_spaces_have_an_array_for_each_key() -> None:
    groups = placed(Group("fox", 2, SIGHT, Discrete(3)))
    assert layout(groups) == {"observations_eye": (7, 2, 8, 8), "observations_ear": (7, 2, 3), "actions": (7, 2, 1)}
    constants = space_constants(groups)
    assert (constants["OBSERVATION_SIZE_EYE"], constants["OBSERVATION_SIZE_EAR"]) == (64, 3)


def test_dict_spaces_that_differ() -> None:
    groups = placed(Group("fox", 2, SIGHT, Discrete(3)), agents(1, "hen", 5))
    assert layout(groups) == {
        "observations_fox_ear": (7, 2, 3),
        "observations_fox_eye": (7, 2, 8, 8),
        "observations_hen": (7, 1, 5),
        "actions": (7, 3, 1),
    }
    assert space_constants(groups)["OBSERVATION_SIZE_FOX_EYE"] == 64


def test_a_group_and_a_key_that_make_the_same_name() -> None:
    fox = Group("fox", 1, Dict({"red_eye": box(3)}), Discrete(2))
    red = Group("fox_red", 1, Dict({"eye": box(4)}), Discrete(2))
    with pytest.raises(DeclarationError, match="make the array 'observations_fox_red_eye'; rename a group or a key"):
        observation_arrays(placed(fox, red))


def test_actions_are_zero_until_written_and_belong_to_the_caller() -> None:
    (actions,) = action_arrays(placed(agents()))
    assert (actions.initial, actions.read_only, actions.on_reset) == (0, True, "keep")


def test_a_single_number_is_one_feature() -> None:
    assert observation_shapes(Group("fox", 1, Box(0.0, 1.0, ()), Discrete(2))) == {"": (1,)}


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Discrete(3), r"group 'fox': observation is Discrete\(3\); expected a Box of float32 or float16, or a Dict of"),
        (Box(0, 255, (8, 8), np.uint8), "group 'fox': observation is Box.*uint8.*; expected a Box of float32 or"),
        (Dict({"eye": box(3), "ear": Discrete(2)}), r"group 'fox': observation 'ear' is Discrete\(2\)"),
        (Dict({"eye": Dict({"left": box(3)})}), "group 'fox': observation 'eye' is Dict"),
        (Dict({"left eye": box(3)}), "observation 'left eye': expected a key of letters, digits and underscores"),
        (Dict({"": box(3)}), "group 'fox': observation: expected a key of letters"),
        (Dict({}), "holds no number"),
        (Box(0.0, 1.0, (0,)), "holds no number"),
        (Text(3), "observation is Text"),
    ],
)
def test_observations_refused(space: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        observation_shapes(Group("fox", 1, space, Discrete(2)))


def test_action_heads() -> None:
    assert action_heads(Discrete(5)) == (5,)
    assert action_heads(MultiDiscrete([5, 3])) == (5, 3)
    assert action_heads(Box(-1.0, 1.0, (3,))) == ()
    assert action_layout(MultiDiscrete([5, 3])) == ("int32", 2)
    assert action_layout(Box(-1.0, 1.0, (3,))) == ("float32", 3)


@pytest.mark.parametrize(
    "space",
    [
        Discrete(3, start=1),
        MultiDiscrete([2, 2], start=[0, 1]),
        MultiDiscrete([[2, 2], [3, 3]]),
        Box(-1.0, 1.0, (2, 2)),
        Box(-1.0, 1.0, ()),
        Box(0, 3, (2,), np.int32),
        MultiBinary(3),
        Dict({"go": Discrete(2)}),
    ],
)
def test_actions_refused(space: Any) -> None:
    with pytest.raises(
        DeclarationError, match=r"(?s)action space .*: expected Discrete or MultiDiscrete counted from 0, or"
    ):
        action_heads(space)
