"""What a step and a reset do, which arrays there are, and what is refused before the first reset."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

from tests.toys import IDLE, agents, box
from tests.world.walks import NUM_ENVS, Toy, trajectory
from warpworld import Array, Group
from warpworld.errors import DeclarationError, StoreError


class TestReservedArrays:
    def test_shapes_and_dtypes(self, toy: Toy) -> None:
        world = toy(IDLE, groups=[agents(2, "fox", 4), agents(3, "hen", 4)])
        world.reset()
        found = {name: (tuple(world[name].shape), world.data.array(name).dtype) for name in world.data}
        assert found == {
            "observations": ((6, 5, 4), "float32"),
            "actions": ((6, 5, 1), "int32"),
            "rewards": ((6, 5), "float32"),
            "terminated": ((6,), "bool"),
            "truncated": ((6,), "bool"),
            "timestep": ((6,), "int32"),
            "clock": ((6,), "uint64"),
            "active": ((6,), "bool"),
            "random_key": ((6,), "uint64"),
            "random_stream": ((6,), "uint32"),
        }
        assert (world.num_envs, world.num_agents, world.device) == (6, 5, world["rewards"].device)
        assert [(group.name, group.first) for group in world.groups.values()] == [("fox", 0), ("hen", 2)]

    def test_groups_that_see_and_act_differently(self, toy: Toy) -> None:
        fox = Group("fox", 2, observation=box(4), action=MultiDiscrete([3, 5]))
        hen = Group("hen", 3, observation=Dict({"eye": box(2, 2), "ear": box(1)}), action=Discrete(4))
        world = toy(IDLE, groups=[fox, hen])
        world.reset()
        assert world["observations_fox"].shape == (6, 2, 4)
        assert world["observations_hen_eye"].shape == (6, 3, 2, 2)
        assert world["actions_fox"].shape == (6, 2, 2)
        assert world["actions_hen"].shape == (6, 3, 1)
        assert "observations" not in world and "actions" not in world
        assert world.observations("fox") is world["observations_fox"]
        seen = world.observations("hen")
        assert isinstance(seen, dict) and set(seen) == {"eye", "ear"} and seen["ear"].shape == (6, 3, 1)
        assert world.action_array("hen") == ("actions_hen", 0)

    def test_views_of_shared_arrays(self, toy: Toy) -> None:
        world = toy(IDLE, groups=[agents(2, "fox", 4), agents(3, "hen", 4)])
        world.reset()
        seen = world.observations("hen")
        assert isinstance(seen, torch.Tensor) and seen.shape == (6, 3, 4)
        seen[:] = 3.0
        assert world["observations"][0, :, 0].tolist() == [0, 0, 3, 3, 3]
        assert world.action_array("hen") == ("actions", 2)
        with pytest.raises(StoreError, match=r"no group 'hens'. Did you mean 'hen'\? Groups: fox, hen"):
            world.observations("hens")

    def test_dict_space_of_the_only_group(self, toy: Toy) -> None:
        world = toy(IDLE, groups=[Group("fox", 2, Dict({"eye": box(3), "ear": box(1)}), Discrete(2))])
        world.reset()
        assert world["observations_eye"].shape == (6, 2, 3)
        seen = world.observations("fox")
        assert isinstance(seen, dict) and seen["ear"].data_ptr() == world["observations_ear"].data_ptr()

    @pytest.mark.parametrize(
        ("name", "doc"),
        [
            ("rewards", "reward of this step"),
            ("observations", "what each agent sees"),
            ("actions", "what each agent does"),
            ("active", "takes part in this launch"),
        ],
    )
    def test_their_names_are_taken(self, toy: Toy, name: str, doc: str) -> None:
        message = (
            f"Toy: arrays() declares '{name}', which every world has already ({doc}). Kernels get it by that name, so "
            "remove it from arrays(); if you mean something else, give it another name"
        )
        with pytest.raises(DeclarationError, match=f"^{re.escape(message)}$"):
            toy(IDLE, Array("x", "int32"), Array(name, "float32"))

    def test_continuous_actions(self, toy: Toy) -> None:
        world = toy(IDLE, groups=[Group("fox", 2, box(4), Box(-1.0, 1.0, (3,)))])
        world.reset()
        assert world["actions"].shape == (6, 2, 3) and world["actions"].dtype == torch.float32


class TestBeforeReset:
    def test_there_is_no_memory(self, walk: Toy) -> None:
        world = walk()
        with pytest.raises(StoreError, match=r"the world has no memory yet; call reset\(\) before step\(\)"):
            world.step()
        with pytest.raises(StoreError, match=r"array 'x' has no memory yet; call reset\(\) first"):
            world["x"]
        with pytest.raises(StoreError, match=r"call reset\(\) first"):
            world["x"] = 0
        with pytest.raises(StoreError, match=r"call reset\(\) first"):
            world.observations("agent")
        with pytest.raises(StoreError, match=r"the store has no memory yet; call reset\(\) first"):
            world.snapshot()

    def test_the_first_reset_is_of_all_envs(self, walk: Toy) -> None:
        with pytest.raises(StoreError, match=r"the first reset\(\) starts every env; call it without a mask"):
            walk().reset(torch.ones(NUM_ENVS, dtype=torch.bool))

    def test_afterwards_nothing_can_be_added(self, walk: Toy) -> None:
        world = walk()
        world.add(Array("mine", "float32"))
        world.reset()
        assert world["mine"].shape == (6, 2)
        with pytest.raises(StoreError, match="cannot add array 'more': the store is sealed"):
            world.add(Array("more", "float32"))
        with pytest.raises(StoreError, match="cannot add array 'agent_mask': the store is sealed"):
            world.request("agent_mask")
        with pytest.raises(StoreError, match=r"what a step records is settled at the first reset\(\)"):
            world.record("rewards", "mine")
        with pytest.raises(StoreError, match=r"what a step records is settled at the first reset\(\)"):
            world.keep_final("observations", "mine", "mine", "mine", "mine")

    def test_unknown_names(self, walk: Toy) -> None:
        world = walk()
        world.reset()
        with pytest.raises(StoreError, match=r"no array 'observation'. Did you mean 'observations'"):
            world["observation"]
        with pytest.raises(StoreError, match=r"no array 'reward'. Did you mean 'rewards'"):
            world["reward"] = 1.0


class TestStep:
    def test_timestep_and_clock(self, walk: Toy) -> None:
        world = walk(episode_length=3)
        world.reset()
        assert world["timestep"].tolist() == [0] * 6 and world["clock"].tolist() == [1] * 6
        for _ in range(2):  # episodes
            for t in (1, 2, 3):
                before = world["clock"][0].item()
                world.step()
                assert world["when"].tolist() == [[t, before + 1]] * 6  # what the kernel saw: 1 in the first step
                assert world["truncated"].tolist() == [t == 3] * 6
                assert world["timestep"].tolist() == [t % 3] * 6  # 0 again after the last
                assert world["clock"].tolist() == [before + 1 + (t == 3)] * 6  # the reset is one more

    def test_actions_move_and_stay(self, walk: Toy) -> None:
        world = walk()
        world.reset()
        world["actions"] = torch.full((6, 2, 1), 10, dtype=torch.int32)
        start = world["x"].clone()
        for i in (1, 2):
            world.step()
            assert ((world["x"] - start) // 10 == i).all()

    def test_ended_envs_start_again_and_keep_rewards_and_ends(self, walk: Toy) -> None:
        world = walk(goal=50)
        world.request("final_observations")
        world.reset()
        before = world["observations"].clone()
        world["actions"][2:4] = 100
        world.step()
        ended = torch.tensor([False, False, True, True, False, False], device=world.device)
        assert torch.equal(world["terminated"], ended) and not world["truncated"].any()
        assert world["resets"].tolist() == [1, 1, 2, 2, 1, 1]
        assert world["timestep"].tolist() == [1, 1, 0, 0, 1, 1]
        assert torch.equal(world["active"], ended)
        assert (world["x"][ended] < 3).all() and (world["observations"][ended] < 3).all()
        assert (world["final_observations"][ended] >= 100).all()
        assert (world["observations"][~ended] - before[~ended]).abs().max() <= 1
        final = world["final_observations"][ended][..., 0]
        assert torch.equal(world["rewards"][ended], (final[:, :1] - final[:, 1:]).expand(2, 2))
        world["actions"] = torch.zeros(6, 2, 1, dtype=torch.int32)
        world.step()
        assert not world["terminated"].any()
        assert world["timestep"].tolist() == [2, 2, 1, 1, 2, 2]
        assert (world["final_observations"][ended] >= 100).all()  # stale, but untouched

    def test_terminated_and_truncated_at_once(self, walk: Toy) -> None:
        world = walk(goal=50, episode_length=1)
        world.reset()
        world["actions"][:3] = 100
        world.step()
        assert world["terminated"].tolist() == [True] * 3 + [False] * 3
        assert world["truncated"].tolist() == [True] * 6
        assert world["resets"].tolist() == [2] * 6

    def test_reset_of_some_envs_leaves_the_others(self, walk: Toy) -> None:
        world = walk(goal=3)
        world.reset()
        trajectory(world, 2)
        before = {name: world[name].clone() for name in world.data}
        chosen = torch.tensor([True, False, False, True, False, False], device=world.device)
        world.reset(chosen)
        for name, old in before.items():
            if old.ndim and old.shape[0] == 6 and name != "active":
                others = slice(1, 3), slice(4, 6)  # a GPU takes no mask of whole numbers without a sign
                assert all(torch.equal(world[name][envs], old[envs]) for envs in others), name
        assert world["timestep"][chosen].tolist() == [0, 0]
        assert torch.equal(world["clock"].to(torch.int64), before["clock"].to(torch.int64) + chosen)
        assert not (world["terminated"] | world["truncated"])[chosen].any()
        world.reset(~chosen)
        world.reset()
        assert world["resets"].max() >= 3

    @pytest.mark.parametrize(
        ("mask", "message"),
        [
            (torch.ones(5, dtype=torch.bool), r"array 'active' has shape \(6,\), the value has \(5,\)"),
            (torch.ones(6, 2, dtype=torch.bool), r"array 'active' has shape \(6,\), the value has \(6, 2\)"),
            (torch.ones(6, dtype=torch.int32), "array 'active' is bool, the value is int32; convert it first"),
            (np.ones(6), "array 'active' is bool, the value is float64"),
            ([1, 2, 0, 0, 0, 0], "which bool does not hold"),
        ],
    )
    def test_masks_that_do_not_fit(self, walk: Toy, mask: Any, message: str) -> None:
        world = walk()
        world.reset()
        before = world.snapshot()
        with pytest.raises(StoreError, match=message):
            world.reset(mask)
        assert torch.equal(world.snapshot(), before)

    def test_numpy_masks_and_lists(self, walk: Toy) -> None:
        world = walk()
        world.reset()
        world.reset(np.array([True] * 2 + [False] * 4))
        world.reset([False] * 5 + [True])  # type: ignore[arg-type]
        assert world["resets"].tolist() == [2, 2, 1, 1, 1, 2]
