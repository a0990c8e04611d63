"""A gridworld of tag in WarpDrive's words: published vectors, and the trajectory of the built-in tag_gridworld."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.cuda.warpdrive.warpdrive_worlds import Gridworld, Votes
from tests.packaged import packaged
from tests.toys import agents, environment
from warpworld import Kernel, World
from warpworld.errors import BuildError

STAY, RIGHT, LEFT, UP, DOWN = range(5)
FIRST = dict(starting_location_x=(0, 0, 0, 0, 1), starting_location_y=(0, 0, 0, 0, 1))
SECOND = dict(starting_location_x=(1, 3, 3, 1, 0), starting_location_y=(1, 1, 3, 3, 1))
# Numbers that floats hold, so that sums are the same in any order.
EXACT: dict[str, Any] = dict(grid_length=8, episode_length=16, wall_hit_penalty=0.125, step_cost_for_tagger=0.0078125)


def make(num_envs: int = 1, **params: Any) -> World:
    world = World(Gridworld(**params), num_envs, device="cpu")
    world.request("final_observations")
    world.reset()
    return world


def act(world: World, actions: tuple[int, ...]) -> None:
    world["actions"][:] = torch.tensor(actions, dtype=torch.int32)[:, None]
    world.step()


def final_cells(world: World) -> tuple[list[int], list[int]]:
    """Cells at the end of the last episode, from the full observation."""
    seen = world.data.numpy("final_observations")[0, 0] * 4
    return seen[:5].astype(int).tolist(), seen[5:10].astype(int).tolist()


def test_published_tag() -> None:
    world = make(episode_length=1, **FIRST)
    act(world, (LEFT, STAY, UP, DOWN, LEFT))
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [9.9, 10, 10, 9.9, -2], rtol=1e-6)
    assert final_cells(world) == ([0, 0, 0, 0, 0], [0, 0, 1, 0, 1])
    assert world["truncated"][0] or world["terminated"][0]
    assert world["loc_x"][0].tolist() == list(FIRST["starting_location_x"])
    assert world["done"][0] == world["env_timestep"][0] == 0
    act(world, (RIGHT, LEFT, UP, DOWN, UP))
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [-0.01, -0.11, -0.01, -0.11, 0.01], rtol=1e-6)


def test_published_time_limit() -> None:
    world = make(episode_length=1, **SECOND)
    act(world, (RIGHT, UP, LEFT, DOWN, RIGHT))
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [-0.01] * 4 + [0.01], rtol=1e-6)
    assert final_cells(world) == ([2, 3, 2, 1, 1], [1, 2, 3, 2, 1])
    assert world["truncated"][0] and not world["terminated"][0]
    act(world, (LEFT, RIGHT, STAY, DOWN, STAY))
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [10, 10, 10, 10, -2], rtol=1e-6)


def test_a_tag_before_the_time_limit_terminates() -> None:
    world = make(episode_length=2, **SECOND)
    act(world, (LEFT, RIGHT, STAY, DOWN, STAY))
    assert world["terminated"][0] and not world["truncated"][0]


class AllEndsTerminate(Gridworld):
    def phases(self) -> list[str | Kernel]:
        return [super().phases()[0], "warpdrive_terminate_episodes"]


def test_every_end_as_the_games_own() -> None:
    world = World(AllEndsTerminate(episode_length=1, **SECOND), 2, device="cpu")
    world.reset()
    act(world, (RIGHT, UP, LEFT, DOWN, RIGHT))
    assert world["terminated"].tolist() == [True, True] and not world["truncated"].any()
    assert world["env_timestep"].tolist() == [0, 0]


@pytest.mark.parametrize("full", [True, False])
def test_the_same_trajectory_as_the_built_in_one(full: bool) -> None:
    starts = dict(starting_location_x=(1, 7, 3, 5, 8), starting_location_y=(8, 1, 6, 2, 4))
    num_envs, settings = 40, dict(EXACT, use_full_observation=full, num_taggers=4)
    ported = make(num_envs, **settings, **starts)
    own = packaged("tag_gridworld", num_envs=num_envs, device="cpu", final_observations=True, **settings, **starts)
    own.reset()
    drawn = np.random.default_rng(0)
    names = ("observations", "final_observations", "rewards", "loc_x", "loc_y", "actions")
    ends = {"terminated": 0, "truncated": 0}
    for _ in range(80):
        actions = torch.from_numpy(drawn.integers(0, 5, (num_envs, 5, 1)).astype(np.int32))
        ported["actions"][:] = own["actions"][:] = actions
        last = own["timestep"] == settings["episode_length"] - 1
        ported.step()
        own.step()
        for name in names:
            assert ported.data.numpy(name).tobytes() == own.data.numpy(name).tobytes(), name
        assert torch.equal(ported["terminated"] | ported["truncated"], own["terminated"] | own["truncated"])
        assert torch.equal(ported["terminated"], own["terminated"] & ~last)  # in the last step done does not tell why
        assert torch.equal(ported["env_timestep"], own["timestep"])
        for name in ends:
            ends[name] += int(ported[name].sum())
    assert min(ends.values()) > 20


def test_some_envs_start_anew() -> None:
    world = make(4, **SECOND)
    first = world.data.numpy("observations").copy()
    act(world, (RIGHT, UP, LEFT, DOWN, RIGHT))
    before = world.data.numpy("observations").copy()
    world.reset(torch.tensor([False, True, True, False]))
    assert world["env_timestep"].tolist() == [1, 0, 0, 1]
    np.testing.assert_array_equal(world.data.numpy("observations")[1:3], first[1:3])
    np.testing.assert_array_equal(world.data.numpy("observations")[[0, 3]], before[[0, 3]])


def test_envs_do_not_share_a_warp() -> None:
    with pytest.raises(BuildError, match="kernels in WarpDrive's words cannot share a warp with other envs"):
        World(Gridworld(), 2, device="cpu", envs_per_warp=2)


@pytest.mark.cpu_backend
def test_another_number_of_envs_compiles_nothing_anew() -> None:
    built = {}
    for num_envs in (2, 9):
        world = World(Votes(), num_envs, device="cpu")
        world.reset()
        world.step()  # which asserts that every env is below wkNumberEnvs
        assert world._kernels.functions is not None
        built[num_envs] = world._kernels.functions._modules["CudaVoteStep"].path
    assert built[2] == built[9]


def test_an_array_on_request_is_made_where_a_list_names_it(tmp_path: Path) -> None:
    path = tmp_path / "mask.cu"
    path.write_text(
        """extern "C" __global__ void forbid(bool* allowed, float* obs) {
  const int here = getEnvID(blockIdx.x) * wkNumberAgents + threadIdx.x;
  allowed[3 * here + threadIdx.x] = false;
  obs[here] = 0.0f;
}"""
    )
    kernel = Kernel("forbid", arguments=("action_mask", "observations"))
    toy = environment(path, [], [agents(2)], phases=[kernel], resets=[])
    world = World(type("Masked", (type(toy),), {"includes": ("warpdrive.cuh",)})(), 2, device="cpu")
    world.reset()
    world.step()
    assert world["action_mask"][1].tolist() == [[False, True, True], [True, False, True]]
