"""Groups' spaces become arrays, their names and the kernels' constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, flatdim

from tests.toys import agents, box, environment
from warpworld.environment import Group, action_heads, action_layout, action_start, placed_groups
from warpworld.environment.spaces import (
    action_arrays,
    action_bounds,
    group_suffix,
    observation_arrays,
    observation_names,
    observation_parts,
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
    with pytest.raises(DeclarationError) as refused:
        observation_arrays(placed(fox, red))
    assert str(refused.value) == (
        "two groups' observations make the array 'observations_fox_red_eye'; rename a group or a key"
    )


def test_actions_are_zero_until_written_and_belong_to_the_caller() -> None:
    (actions,) = action_arrays(placed(agents()))
    assert (actions.initial, actions.read_only, actions.on_reset) == (0, True, "keep")


@pytest.mark.parametrize(
    ("space", "dtype", "shape", "features"),
    [
        (Box(0.0, 1.0, ()), "float32", (1,), (1,)),
        (Box(0.0, 1.0, (2,), np.float16), "float16", (2,), (2,)),
        (Box(0, 255, (3, 8, 8), np.uint8), "uint8", (3, 8, 8), (3, 8, 8)),
        (Discrete(5, start=-2), "int32", (1,), (5,)),
        (MultiDiscrete([2, 3], start=[4, 0]), "int32", (2,), (5,)),
        (MultiDiscrete([[2, 3], [4, 5]]), "int32", (2, 2), (14,)),
        (MultiBinary(4), "bool", (4,), (4,)),
        (MultiBinary((2, 3)), "bool", (2, 3), (2, 3)),
    ],
)
def test_kinds_of_observations(space: Any, dtype: str, shape: tuple[int, ...], features: tuple[int, ...]) -> None:
    """Each with the bounds of its own samples, and with as many features as gymnasium counts."""
    (part,) = observation_parts(Group("fox", 1, space, Discrete(2))).values()
    assert (part.dtype, part.shape, part.feature_shape) == (dtype, shape, features)
    assert np.prod(part.feature_shape) == flatdim(space)
    samples = np.stack([np.reshape(space.sample(), shape) for _ in range(200)])
    assert (samples >= part.low).all() and (samples <= part.high).all()
    if part.is_choice:
        assert np.array_equal(samples.min(0), part.low) and np.array_equal(samples.max(0), part.high)


def test_kinds_that_differ_have_arrays_of_their_own() -> None:
    groups = placed(
        Group("fox", 2, Box(0, 255, (1,), np.uint8), Discrete(2)),
        Group("hen", 3, Box(0.0, 1.0, (1,)), Discrete(2)),
        Group("owl", 1, Discrete(3), Discrete(2)),
    )
    assert {array.name: array.dtype for array in observation_arrays(groups)} == {
        "observations_fox": "uint8",
        "observations_hen": "float32",
        "observations_owl": "int32",
    }
    assert layout(
        placed(Group("fox", 2, Discrete(3), Discrete(2)), Group("hen", 1, Discrete(9, start=1), Discrete(2)))
    )["observations"] == (7, 3, 1)  # other choices are no other layout


SERVED = "expected a Box of float32, float16 or uint8, Discrete, MultiDiscrete or MultiBinary, or a Dict of such"
KEYS = "expected a key of letters, digits and underscores, as array names have"


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Text(3), f"observation is {Text(3)}; {SERVED}"),
        (Box(0.0, 1.0, (2,), np.float64), f"observation is Box(0.0, 1.0, (2,), float64); {SERVED}"),
        (Box(0, 9, (2,), np.int32), f"observation is Box(0, 9, (2,), int32); {SERVED}"),
        (Discrete(2, start=2**31 - 1), f"observation is Discrete(2, start=2147483647); {SERVED}"),
        (Dict({"eye": Dict({"left": box(3)})}), f"observation 'eye' is {Dict({'left': box(3)})}; {SERVED}"),
        (Dict({"left eye": box(3)}), f"observation 'left eye': {KEYS}"),
        (Dict({"": box(3)}), f"observation: {KEYS}"),
        (Dict({}), "observation Dict() holds no number"),
        (Box(0.0, 1.0, (0,)), "observation Box([], [], (0,), float32) holds no number"),
    ],
)
def test_observations_refused(space: Any, message: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        observation_parts(Group("fox", 1, space, Discrete(2)))
    assert str(refused.value) == f"group 'fox': {message}"


@pytest.mark.parametrize(
    ("space", "heads", "layout_of_one"),
    [
        (Discrete(5), (5,), ("int32", 1)),
        (Discrete(5, start=3), (5,), ("int32", 1)),
        (MultiDiscrete([5, 3], start=[1, -4]), (5, 3), ("int32", 2)),
        (MultiDiscrete([[2, 3], [4, 5]]), (2, 3, 4, 5), ("int32", 4)),
        (MultiBinary(3), (2, 2, 2), ("int32", 3)),
        (MultiBinary((2, 2)), (2, 2, 2, 2), ("int32", 4)),
        (Box(-1.0, 1.0, (3,)), (), ("float32", 3)),
        (Box(-1.0, 1.0, (2, 3)), (), ("float32", 6)),
        (Box(-1.0, 1.0, ()), (), ("float32", 1)),
    ],
)
def test_kinds_of_actions(space: Any, heads: tuple[int, ...], layout_of_one: tuple[str, int]) -> None:
    """A space's own samples lie, from their start on, within what the store may hold."""
    assert (action_heads(space), action_layout(space)) == (heads, layout_of_one)
    groups = placed(Group("fox", 2, box(1), space))
    ((name, (low, high, start)),) = action_bounds(groups).items()
    assert np.array_equal(start, 2 * np.broadcast_to(action_start(space).ravel(), layout_of_one[1]).tolist())
    assert (name, len(low), len(high)) == ("actions", 2 * layout_of_one[1], 2 * layout_of_one[1])
    samples = np.stack([np.ravel(space.sample() - action_start(space)) for _ in range(300)])
    assert (samples >= low[: len(low) // 2]).all() and (samples <= high[: len(high) // 2]).all()
    if heads:
        assert np.array_equal(samples.min(0), [0] * len(heads)) and np.array_equal(samples.max(0) + 1, heads)


def test_bounds_of_a_box_lie_as_its_numbers_do() -> None:
    space = Box(np.array([[0, 1], [2, 3]], np.float32), np.array([[4, 5], [6, 7]], np.float32))
    groups = placed(Group("fox", 1, box(1), space), Group("hen", 2, box(1), Box(-1.0, 1.0, (4,))))
    assert action_bounds(groups) == {"actions": ((0, 1, 2, 3, *(-1,) * 8), (4, 5, 6, 7, *(1,) * 8), (0,) * 12)}


@pytest.mark.parametrize(
    "space",
    [
        Box(0, 3, (2,), np.int32),
        Box(-1.0, 1.0, (2,), np.float64),
        Box(-1.0, 1.0, (0,)),
        Text(3),
    ],
)
def test_actions_refused(space: Any) -> None:
    with pytest.raises(DeclarationError) as refused:
        action_heads(space)
    assert str(refused.value) == (
        f"action space {space}: expected Discrete, MultiDiscrete, MultiBinary or a Box of float32, of at least one "
        "number, or a Dict or Tuple of such"
    )
