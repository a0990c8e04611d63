"""Worlds through PyCUDA on the stand-in driver against the cpu backend, bit for bit."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch

import warpworld
from benchmarks.gpu.crowd import Crowd
from tests.cuda.warpdrive import warpdrive_worlds
from tests.stand_in.driver import StandIn
from warpworld import Environment, World
from warpworld.environment import get_environment
from warpworld.managers.cpu.backend import CpuBackend
from warpworld.managers.cuda.backend import CudaBackend
from warpworld.managers.cuda.launches import _Launch

pytestmark = pytest.mark.stand_in

SIZES: list[tuple[str, dict[str, Any]]] = [
    ("cartpole", {}),
    ("tag_gridworld", {}),
    ("tag_continuous", {}),
    ("tag_continuous", {"num_taggers": 3, "num_runners": 40, "use_full_observation": False}),
    ("explorer", {"num_plans": 2}),  # whose envs share warps where they move, and not where they see
    ("point_goal", {"num_plans": 2}),
    ("deathmatch", {"num_plans": 2, "players": 2, "rivals": 2}),
]


def on_cpu_backend(*arguments: Any, **settings: Any) -> World:
    """A world of the cpu backend."""
    return World(*arguments, backend=CpuBackend(), **settings)


@pytest.mark.parametrize("envs_per_warp", [None, 0])
@pytest.mark.parametrize(("name", "params"), SIZES)
def test_trajectories_are_those_of_the_cpu_backend(
    name: str, params: dict[str, Any], envs_per_warp: int | None
) -> None:
    ended = assert_same_trajectory(get_environment(name)(**params), envs_per_warp)
    assert ended or name != "cartpole"  # where random actions end episodes, resets were met


@pytest.mark.parametrize(
    "ported", [warpdrive_worlds.Gridworld(), warpdrive_worlds.Continuous()], ids=lambda ported: ported.name
)
def test_trajectories_of_kernels_in_warpdrive_s_words(ported: Environment) -> None:
    assert assert_same_trajectory(ported, None)


@pytest.mark.parametrize(
    "environment",
    [
        Crowd(agents=2000, episode_length=3),
        Crowd(agents=10_000, episode_length=3),
        get_environment("tag_gridworld")(num_taggers=1999, use_full_observation=False, episode_length=3),
        get_environment("battle")(army_size=1000, map_size=90),
        get_environment("tag_continuous")(
            num_taggers=100, num_runners=1900, grid_length=90.0, use_full_observation=False, episode_length=3
        ),
    ],
    ids=["turns of 2000", "turns of 10000", "2000 on a grid", "battle of 2000", "2000 on a plane"],
)
def test_trajectories_of_thousands_of_agents(environment: Environment) -> None:
    ended = assert_same_trajectory(environment, None, num_envs=2, steps=4)
    assert ended or environment.name == "battle"


def assert_same_trajectory(
    environment: Environment,
    envs_per_warp: int | None,
    num_envs: int = 37,
    steps: int = 40,
) -> int:
    """Step both backends' worlds with the same actions; returns how many episodes ended."""
    worlds = [
        World(environment, num_envs, seed=5, envs_per_warp=envs_per_warp),
        on_cpu_backend(environment, num_envs, seed=5),
    ]
    assert [type(world._backend) for world in worlds] == [CudaBackend, CpuBackend]
    random, ended = torch.Generator().manual_seed(3), 0
    for world in worlds:
        world.reset()
    for _ in range(steps):
        for name_of_actions in (array for array in worlds[0].data if array.startswith("actions")):
            actions = torch.randint(0, 2, worlds[0][name_of_actions].shape, generator=random, dtype=torch.int32)
            for world in worlds:
                world[name_of_actions] = actions
        for world in worlds:
            world.step()
        ended += int(worlds[0]["active"].sum())
        for array in (name for name in worlds[0].data if not worlds[0].data.array(name).scratch):
            assert torch.equal(worlds[0][array], worlds[1][array]), array
    return ended


def test_launches_of_a_step(stand_in: StandIn) -> None:
    """This and the trajectories above are all that runs packed launches of the cuda backend where there is no GPU."""
    world = warpworld.make("tag_gridworld", num_envs=50, num_taggers=4, seed=2**63 + 1)
    world.reset()
    with stand_in.recording() as launches:
        world.step()
    assert [launch.name for launch in launches] == ["ww_entry_step", "ww_entry_reset"]
    for launch in launches:
        assert launch.block == (128, 1, 1)  # 5 agents: 6 envs a warp, 4 warps a block
        assert launch.grid == (3, 1, 1)
        assert launch.stream == 0
        own = _Launch.from_buffer_copy(launch.parameters)
        assert (own.context.num_envs, own.context.first_env) == (50, 0)
        assert own.context.key == world.data.pointer("random_key")
        assert own.context.active == world.data.pointer("active")
    first = int.from_bytes(launches[0].parameters[ctypes.sizeof(_Launch) :][:8], "little")
    assert first in {world.data.pointer(name) for name in world.data}
