"""Random actions: of each group's space, within its bounds, among what its mask leaves."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space

from tests.toys import IDLE, box
from tests.world.walks import Toy
from warpworld import Array, Group, World
from warpworld.world.random_actions import RandomActions

INFINITY = np.inf


def drawn(world: World, draws: int, seed: int = 0) -> dict[str, np.ndarray]:
    """What lies in each array of actions, draw after draw: (draws, envs, agents, size)."""
    world.reset()
    actions = RandomActions(world, seed)
    rows: dict[str, list[np.ndarray]] = {name: [] for name in world.data if name.startswith("actions")}
    for _ in range(draws):
        actions.draw()
        actions.put(world, slice(0, world.num_envs))
        for name, values in rows.items():
            values.append(world[name].cpu().numpy().copy())
    return {name: np.stack(values) for name, values in rows.items()}


def acting(action: Space, size: int = 2, name: str = "agent") -> Group:
    return Group(name, size, box(1), action)


LOW = [2.0, -INFINITY, -1.0, -INFINITY, -0.5, -INFINITY]
HIGH = [INFINITY, -3.0, 3.0, INFINITY, INFINITY, 0.25]


def test_in_a_box_that_is_bounded_on_one_side_both_or_none(toy: Toy) -> None:
    space = Box(np.array(LOW, np.float32), np.array(HIGH, np.float32))
    found = drawn(toy(IDLE, groups=[acting(space)]), 400)["actions"].reshape(-1, 6)
    assert found.dtype == np.float32 and len(found) == 400 * 6 * 2
    assert (found >= space.low).all() and (found <= space.high).all()
    below_0, free, bounded = found[:, 4] < 0, found[:, 3], found[:, 2]
    assert 0.25 < below_0.mean() < 0.75 and (found[:, 4] == -0.5).any() and found[:, 4].max() > 2
    assert abs(free.mean()) < 0.05 and abs(free.std() - 1) < 0.05
    assert abs(bounded.mean() - 1) < 0.05 and abs(bounded.std() - 4 / np.sqrt(12)) < 0.05
    assert bounded.min() < -0.99 and bounded.max() > 2.99


def test_every_choice_of_every_head(toy: Toy) -> None:
    found = drawn(toy(IDLE, groups=[acting(MultiDiscrete([3, 2, 4]))]), 200)["actions"].reshape(-1, 3)
    for head, choices in enumerate((3, 2, 4)):
        counts = np.bincount(found[:, head], minlength=choices)
        assert len(counts) == choices
        assert np.abs(counts / len(found) - 1 / choices).max() < 0.05
    assert abs(np.corrcoef(found.T)[0, 2]) < 0.06  # each head for itself


def test_what_a_mask_forbids_is_not_drawn(toy: Toy) -> None:
    mask = np.ones((6, 3, 5), bool)
    mask[:, 1:, 0] = mask[:, 1, 3] = False  # of the second group: choice 0; of its first agent also 0 of head 2
    mask[2, 0, :2] = False
    masks = Array("action_mask", "bool", (5,), initial=mask, on_reset="keep")
    groups = [acting(MultiDiscrete([3, 2]), 1, "fox"), acting(MultiDiscrete([3, 2]), 2, "hen")]
    found = drawn(toy(IDLE, masks, groups=groups), 300)["actions"]
    for env in range(6):
        for agent in range(3):
            for head, first, choices in ((0, 0, 3), (1, 3, 2)):
                left = np.flatnonzero(mask[env, agent, first : first + choices])
                values, counts = np.unique(found[:, env, agent, head], return_counts=True)
                assert values.tolist() == left.tolist()
                assert counts.min() / 300 > 0.5 / len(left)


def test_groups_that_act_differently_have_arrays_of_their_own(toy: Toy) -> None:
    groups = [acting(Discrete(4), 2, "fox"), acting(Box(5.0, 6.0, (2,)), 1, "hen")]
    found = drawn(toy(IDLE, groups=groups), 50)
    assert found["actions_fox"].shape == (50, 6, 2, 1) and set(np.unique(found["actions_fox"])) == {0, 1, 2, 3}
    assert found["actions_hen"].shape == (50, 6, 1, 2)
    assert found["actions_hen"].min() >= 5 and found["actions_hen"].max() <= 6


def test_they_depend_on_the_seed_alone(toy: Toy) -> None:
    worlds = [toy(IDLE, groups=[acting(Discrete(100))], seed=seed) for seed in (0, 5)]
    one, other = (drawn(world, 5, seed=1)["actions"] for world in worlds)
    assert (one == other).all()
    assert (one != drawn(worlds[0], 5, seed=2)["actions"]).any()
    assert (one[0] != one[1]).any()


@pytest.mark.parametrize("envs", [slice(0, 2), slice(4, 6)])
def test_of_some_envs_for_a_world_that_has_these(toy: Toy, envs: slice) -> None:
    groups = [acting(Discrete(50), 2, "fox"), acting(Discrete(50), 1, "hen")]
    world, small = toy(IDLE, groups=groups), toy(IDLE, groups=groups, num_envs=2)
    expected = drawn(world, 1)["actions"][0, envs]
    small.reset()
    actions = RandomActions(world, 0)
    actions.draw()
    actions.put(small, envs)
    assert (small["actions"].cpu().numpy() == expected).all()
