"""Arrays that exist on request only, and the constants that kernels get."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Dict, Discrete, MultiDiscrete

import warpworld
from tests.toys import IDLE, agents, box
from tests.world.walks import Toy, trajectory
from warpworld import Array, Group, Kernel
from warpworld.errors import BindError, DeclarationError, StoreError


class TestOnRequest:
    def test_final_observations_of_every_observations_array(self, toy: Toy) -> None:
        world = toy(IDLE, groups=[agents(2, "fox", 4), agents(3, "hen", 5)])
        world.request("final_observations")
        world.request("final_observations")
        world.reset()
        assert world["final_observations_fox"].shape == (6, 2, 4)
        assert world["final_observations_hen"].shape == (6, 3, 5)

    def test_asked_for_in_make(self) -> None:
        world = warpworld.make("cartpole", num_envs=3, device="cpu", final_observations=True)
        world.reset()
        assert world["final_observations"].shape == (3, 1, 4)

    def test_masks(self, toy: Toy) -> None:
        fox = Group("fox", 2, box(1), MultiDiscrete([3, 4]))
        world = toy(IDLE, groups=[fox])
        for name in ("action_mask", "agent_mask", "agent_terminated"):
            world.request(name)
        world.reset()
        assert world["action_mask"].shape == (6, 2, 7) and world["action_mask"].all()
        assert world["agent_mask"].shape == (6, 2) and world["agent_mask"].all()
        assert world["agent_terminated"].shape == (6, 2) and not world["agent_terminated"].any()

    def test_a_kernel_asks_by_naming_them(self, toy: Toy) -> None:
        text = """
extern "C" __global__ void step(bool* agent_terminated, bool* agent_mask, bool* action_mask, float* observations,
                                const float* final_observations, bool* terminated) {
  if (!is_active()) return;
  agent_terminated[agent_index()] = agent_id() == 1;
  agent_mask[agent_index()] = agent_id() == 0;
  action_mask[agent_index() * 3 + 1] = false;
  observations[agent_index()] = final_observations[agent_index()] + 1.0f;
  if (agent_id() == 0) terminated[env_id()] = true;
}
extern "C" __global__ void reset() {}
"""
        world = toy(text)
        world.reset()
        trajectory(world, 3, ())
        assert world["agent_terminated"].tolist() == [[False, True]] * 6
        assert world["agent_mask"].tolist() == [[True, False]] * 6
        assert world["action_mask"].tolist() == [[[True, False, True]] * 2] * 6
        assert world["final_observations"].tolist() == [[[3.0]] * 2] * 6

    def test_a_kernel_asks_for_a_group_s(self, toy: Toy) -> None:
        text = """
extern "C" __global__ void step(const float* final_observations_fox) {}
extern "C" __global__ void reset() {}
"""
        world = toy(text, groups=[agents(1, "fox", 2), agents(1, "hen", 3)])
        assert "final_observations_hen" in world

    def test_a_kernel_asks_in_its_list_of_arguments(self, toy: Toy) -> None:
        """There what a parameter is called says nothing."""
        text = """
extern "C" __global__ void step(bool* agent_terminated) {
  if (is_active()) agent_terminated[agent_index()] = false;
}
extern "C" __global__ void reset() {}
"""
        world = toy(text, phases=[Kernel("step", arguments=("agent_mask",))])
        assert "agent_mask" in world and "agent_terminated" not in world
        world.reset()
        world.step()
        assert not world["agent_mask"].any()

    def test_a_number_asks_for_nothing(self, toy: Toy) -> None:
        text = """
extern "C" __global__ void step(int agent_mask) {}
extern "C" __global__ void reset() {}
"""
        assert "agent_mask" not in toy(text, params={"agent_mask": 3})

    def test_an_author_may_declare_one_to_give_it_values(self, toy: Toy) -> None:
        text = """
extern "C" __global__ void step(const bool* agent_mask, float* rewards) {
  if (is_active()) rewards[agent_index()] = agent_mask[agent_index()] ? 1.0f : 2.0f;
}
extern "C" __global__ void reset() {}
"""
        world = toy(text, Array("agent_mask", "bool", initial=[True, False], on_reset="keep"))
        world.reset()
        world.step()
        assert world["rewards"].tolist() == [[1.0, 2.0]] * 6

    def test_unknown(self, walk: Toy) -> None:
        message = (
            "no array 'agent_masks' to request. Did you mean 'agent_mask'\\? Known: final_observations, action_mask, "
            "agent_terminated, agent_truncated, agent_mask"
        )
        with pytest.raises(StoreError, match=message):
            walk().request("agent_masks")


class TestConstants:
    CONSTANTS = """
extern "C" __global__ void step(float* seen, float* exact) {
  if (!is_active() || agent_id() != 0 || env_id() != 0) return;
  const float values[] = {SEEN};
  for (int i = 0; i < (int)(sizeof(values) / sizeof(float)); i++) seen[i] = values[i];
}
extern "C" __global__ void reset() {}
"""

    def seen(self, toy: Toy, names: tuple[str, ...], **options: Any) -> list[float]:
        text = self.CONSTANTS.replace("SEEN", ", ".join(f"(float)({name})" for name in names))
        arrays = [Array("seen", "float32", (len(names),), per="world"), Array("exact", "float32", per="world")]
        world = toy(text, *arrays, **options)
        world.reset()
        world.step()
        return world["seen"].tolist()

    def test_of_agents_and_groups(self, toy: Toy) -> None:
        names = ("NUM_AGENTS", "FOX_FIRST", "FOX_COUNT", "HEN_FIRST", "HEN_COUNT", "OBSERVATION_SIZE")
        groups = [agents(2, "fox", 6), agents(3, "hen", 6)]
        assert self.seen(toy, names, groups=groups) == [5, 0, 2, 2, 3, 6]

    def test_of_spaces_that_differ(self, toy: Toy) -> None:
        names = ("OBSERVATION_SIZE_FOX_EYE", "OBSERVATION_SIZE_FOX_EAR", "OBSERVATION_SIZE_HEN")
        fox = Group("fox", 1, Dict({"eye": box(2, 3), "ear": box(1)}), Discrete(2))
        assert self.seen(toy, names, groups=[fox, agents(1, "hen", 5)]) == [6, 1, 5]

    def test_of_params(self, toy: Toy) -> None:
        params = {"count": 3, "below": -7, "side": 0.1, "deep": -2.5, "walls": True, "doors": False, "loose": 4}
        names = ("COUNT", "1-BELOW", "SIDE", "1-DEEP", "WALLS", "DOORS", "WALLS && !DOORS")
        chosen = ("count", "below", "side", "deep", "walls", "doors")
        expected = [3, 8, np.float32(0.1), 3.5, 1, 0, 1]
        assert self.seen(toy, names, params=params, compile_time=chosen) == expected

    def test_another_value_is_another_build(self, toy: Toy) -> None:
        for count in (3, 4):
            assert self.seen(toy, ("COUNT",), params={"count": count}, compile_time=("count",)) == [count]

    def test_group_index(self, toy: Toy) -> None:
        text = """
extern "C" __global__ void step(float* observations_fox, float* observations_hen, int num_envs) {
  if (!is_active()) return;
  if (agent_id() < HEN_FIRST) {
    const int i = group_index(FOX_FIRST, FOX_COUNT) * OBSERVATION_SIZE_FOX;
    observations_fox[i] = agent_id(), observations_fox[i + 1] = env_id();
  } else {
    observations_hen[group_index(HEN_FIRST, HEN_COUNT)] = agent_index();
  }
}
extern "C" __global__ void reset() {}
"""
        world = toy(text, groups=[agents(2, "fox", 2), agents(3, "hen", 1)])
        world.reset()
        world.step()
        assert world["observations_fox"][:, :, 0].tolist() == [[0, 1]] * 6
        assert world["observations_fox"][:, 1, 1].tolist() == [0, 1, 2, 3, 4, 5]
        assert world["observations_hen"][:, :, 0].tolist() == [[e * 5 + i for i in (2, 3, 4)] for e in range(6)]

    @pytest.mark.parametrize(
        ("params", "compile_time", "message"),
        [
            ({"start": "random"}, ("start",), "compile_time names 'start', which is not a number among the Params"),
            ({"count": 3}, ("counts",), "compile_time names 'counts'.* Did you mean 'count'"),
            ({"num_agents": 3}, (), "Params has num_agents=3, but the world's own num_agents is 2; give the parameter"),
            ({"num_envs": 3}, (), "Params has num_envs=3, but the world's own num_envs is 6"),
            (
                {"observation_size": 7},
                ("observation_size",),
                "compile_time 'observation_size' makes the constant OBSERVATION_SIZE=7, which the world sets to 1",
            ),
        ],
    )
    def test_refused(self, toy: Toy, params: dict[str, Any], compile_time: tuple[str, ...], message: str) -> None:
        with pytest.raises(DeclarationError, match=f"Toy: {message}"):
            toy(IDLE, params=params, compile_time=compile_time)

    @pytest.mark.parametrize("value", [float("inf"), 1e300])
    def test_numbers_that_are_no_literals(self, toy: Toy, value: float) -> None:
        with pytest.raises(BindError, match=r"the constant SIDE is .*; expected a bool, a 64-bit integer or a finite"):
            toy(IDLE, params={"side": value}, compile_time=("side",))
