"""Autoreset, steps of some envs and checked actions: what is refused, and in which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiDiscrete

import warpworld
from tests.toys import agents, box
from tests.world.walks import Toy
from warpworld import Array, Group, Kernel, World
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError, StoreError

COUNT = """
extern "C" __global__ void step(int* steps, float* rewards, bool* terminated) {
  if (!is_active()) return;
  steps[agent_index()]++;
  rewards[agent_index()] = 1.0f;
  if (agent_id() == 0) terminated[env_id()] = steps[agent_index()] % 3 == 0;
}
extern "C" __global__ void reset(int* resets) {
  if (is_active()) resets[agent_index()]++;
}
"""
COUNTS = (Array("steps", "int32", initial=0, on_reset="keep"), Array("resets", "int32", initial=0, on_reset="keep"))


def test_next_step_resets_in_a_step_of_its_own(toy: Toy) -> None:
    world = toy(COUNT, *COUNTS, num_envs=1, autoreset="next_step")
    world.reset()
    watched, seen = ("steps", "resets", "rewards", "terminated", "timestep", "clock"), []
    for _ in range(8):
        world.step()
        seen.append([int(world[name].flatten()[0]) for name in watched])
    assert seen == [
        [1, 1, 1, 0, 1, 2],
        [2, 1, 1, 0, 2, 3],
        [3, 1, 1, 1, 3, 4],
        [3, 2, 0, 0, 0, 5],
        [4, 2, 1, 0, 1, 6],
        [5, 2, 1, 0, 2, 7],
        [6, 2, 1, 1, 3, 8],
        [6, 3, 0, 0, 0, 9],
    ]


def test_disabled_waits_for_its_caller(toy: Toy) -> None:
    world = toy(COUNT, *COUNTS, num_envs=2, autoreset="disabled")
    world.reset()
    for _ in range(5):
        world.step()
    assert world["steps"][:, 0].tolist() == [3, 3] and world["timestep"].tolist() == [3, 3]
    assert world["terminated"].tolist() == [True, True] and world["clock"].tolist() == [4, 4]
    world.reset(torch.tensor([True, False], device=world.device))
    world.step()
    assert world["steps"][:, 0].tolist() == [4, 3] and world["resets"][:, 0].tolist() == [2, 1]
    assert world["timestep"].tolist() == [1, 3] and world["clock"].tolist() == [6, 4]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "nextstep",
            "autoreset='nextstep': expected one of same_step, next_step, disabled. Did you mean 'next_step'?",
        ),
        (None, "autoreset=None: expected one of same_step, next_step, disabled."),
    ],
)
def test_no_such_way(toy: Toy, given: Any, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        toy(COUNT, *COUNTS, autoreset=given)
    assert str(caught.value) == message


def pay(arrays: Any, active: torch.Tensor) -> None:
    arrays["rewards"][:] = 5.0


@warpworld.masked_phase
def pay_those(arrays: Any, active: torch.Tensor) -> None:
    arrays["rewards"][active] = 5.0


def test_python_phases_say_that_they_heed_who_takes_part(toy: Toy) -> None:
    message = (
        "Toy: phase 'pay' is Python and may change envs that sit out; mark it @warpworld.masked_phase once it "
        "changes active envs only"
    )
    for autoreset in ("next_step", "disabled"):
        with pytest.raises(DeclarationError) as caught:
            toy(COUNT, *COUNTS, phases=["step", pay], autoreset=autoreset)
        assert str(caught.value) == message
    world = toy(COUNT, *COUNTS, phases=["step", pay])
    world.reset()
    world.step()
    with pytest.raises(DeclarationError) as caught:
        world.step_some(torch.ones(6, dtype=torch.bool, device=world.device))
    assert str(caught.value) == message


def test_python_phases_that_do_are_run(toy: Toy) -> None:
    world = toy(COUNT, *COUNTS, num_envs=2, phases=["step", pay_those])
    world.reset()
    world["rewards"] = 2.0
    world.step_some(torch.tensor([False, True], device=world.device))
    assert world["rewards"].tolist() == [[2.0, 2.0], [5.0, 5.0]]


def test_kernels_that_touch_other_envs_leave_none_out(toy: Toy) -> None:
    world = toy(COUNT, *COUNTS, phases=[Kernel("step", own_env_only=False)])
    world.reset()
    with pytest.raises(DeclarationError) as caught:
        world.step_some(torch.ones(6, dtype=torch.bool, device=world.device))
    assert str(caught.value) == (
        "Toy: phase 'step' touches other envs (own_env_only=False), so a step cannot leave envs out"
    )


def test_steps_of_some_come_after_a_reset_and_take_a_mask(toy: Toy) -> None:
    world = toy(COUNT, *COUNTS)
    with pytest.raises(StoreError, match=r"no memory yet; call reset\(\) before step_some\(\)"):
        world.step_some(torch.ones(6, dtype=torch.bool))
    world.reset()
    with pytest.raises(StoreError, match=r"array 'active' has shape \(6,\), the value has \(5,\)"):
        world.step_some(torch.ones(5, dtype=torch.bool, device=world.device))
    with pytest.raises(StoreError, match="array 'active' is bool, the value is int64"):
        world.step_some(torch.ones(6, dtype=torch.int64, device=world.device))


def test_what_is_recorded_is_of_whole_steps(toy: Toy) -> None:
    world = toy(COUNT, *COUNTS)
    world.add(Array("copy", "float32"))
    world.record("rewards", "copy")
    world.reset()
    with pytest.raises(StoreError, match=r"step_some\(\): this world records whole steps, for a trainer"):
        world.step_some(torch.ones(6, dtype=torch.bool, device=world.device))


def test_records_need_resets_in_the_same_step(toy: Toy) -> None:
    world = toy(COUNT, *COUNTS, autoreset="next_step")
    world.add(Array("copy", "float32"))
    with pytest.raises(StoreError) as caught:
        world.record("rewards", "copy")
    assert str(caught.value) == (
        "what a step records is of steps that reset in the same step; make the world with autoreset='same_step'"
    )
    with pytest.raises(StoreError) as caught:
        world.request("final_observations")
    assert str(caught.value) == (
        "final observations are of steps that reset in the same step; make the world with autoreset='same_step'"
    )


@pytest.mark.parametrize(
    ("actions", "value", "place", "message"),
    [
        ([Discrete(2)], 7, (3, 0, 0), "actions: env 3 has 7, expected 0 to 1"),
        ([Discrete(2)], -1, (0, 0, 0), "actions: env 0 has -1, expected 0 to 1"),
        ([Discrete(2), Discrete(5)], 5, (2, 1, 0), "actions: env 2, agent 1 has 5, expected 0 to 4"),
        ([MultiDiscrete([2, 4])], 4, (1, 0, 1), "actions: env 1, part 1 has 4, expected 0 to 3"),
        ([Box(-2.0, 1.5, (1,))], float("nan"), (0, 0, 0), "actions: env 0 has nan, expected -2 to 1.5"),
        ([Box(-2.0, 1.5, (1,))], 1.75, (5, 0, 0), "actions: env 5 has 1.75, expected -2 to 1.5"),
        ([Box(-np.inf, np.inf, (2,))], float("inf"), (4, 0, 0), "actions: env 4, part 0 has inf, expected -inf to inf"),
        ([Discrete(2), Box(-1.0, 1.0, (1,))], 3.0, (1, 0, 0), "actions_b: env 1 has 3, expected -1 to 1"),
    ],
)
def test_actions_are_checked_on_request(toy: Toy, actions: list, value: float, place: tuple, message: str) -> None:
    groups = [Group(name, 1, box(1), space) for name, space in zip("ab", actions, strict=False)]
    world = toy(COUNT, *COUNTS, groups=groups, check_actions=True)
    world.reset()
    world.step()
    world.step_some(torch.ones(6, dtype=torch.bool, device=world.device))
    world[message.split(":")[0]][place] = value
    for step in (world.step, lambda: world.step_some(torch.ones(6, dtype=torch.bool, device=world.device))):
        with pytest.raises(StoreError) as caught:
            step()
        assert str(caught.value) == message
    assert torch.equal(world["steps"].cpu(), torch.full_like(world["steps"].cpu(), 2))  # nothing was stepped


def test_whole_ranges_are_legal(toy: Toy) -> None:
    world = toy(COUNT, *COUNTS, groups=[agents(2)], check_actions=True)
    world.reset()
    world["actions"] = torch.randint(0, 2, (6, 2, 1), dtype=torch.int32, device=world.device)
    for _ in range(5):
        world.step()
    unlike = toy(COUNT, *COUNTS, groups=[agents(1, "a", choices=2), agents(1, "b", choices=5)], check_actions=True)
    unlike.reset()
    unlike["actions"][:, 1] = 4
    unlike.step()


@pytest.mark.parametrize("name", ["tag_gridworld", "tag_continuous"])
def test_packaged_worlds_take_what_their_samplers_draw(name: str) -> None:
    world = World(get_environment(name)(), 4, check_actions=True)
    world.reset()
    for group in world.groups.values():
        array, first = world.action_array(group.name)
        drawn = np.stack([[group.action.sample() for _ in range(group.size)] for _ in range(4)])
        view = world[array][:, first : first + group.size]
        view.copy_(torch.from_numpy(drawn.reshape(view.shape)))
    world.step()
