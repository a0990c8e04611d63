"""What every environment that comes with warpworld keeps to; a new one is swept in by being registered."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from tests.envs.small_worlds import BY_RULES_ALONE, CASES, LENGTH, NAMES, each_case, each_kind, framework_s, of_length
from tests.envs.trajectories import Driver, assert_equal, assert_same_trajectory, ended, per_env, trajectory_of, values
from warpworld import Array, Environment, Group, World
from warpworld.environment import get_environment
from warpworld.environment.parts import parts_of
from warpworld.errors import BuildError
from warpworld.managers.build_cache import cache_folder
from warpworld.managers.devices import open_backend

SEEN_BY_OTHERS = ("explorer-default", "waypoint-default")  # point_goal has the same eyes
HEAVY = ("deathmatch-default", "point_goal-default", "tag_continuous-full", "tag_continuous-own-state")
PACKED_IN_EVERY_WAY = ("cartpole", "tag_gridworld")  # each way is a build of its own


def make(name: str, params: dict[str, Any], num_envs: int, num_workers: int = 1, **options: Any) -> World:
    """A world on the cpu that keeps its final observations, not yet reset."""
    world = World(get_environment(name)(**params), num_envs, "cpu", num_workers=num_workers, **options)
    world.request("final_observations")
    return world


# ---- what kernels write ---------------------------------------------------------------------------------------------


@each_case
def test_arrays_stay_within_their_bounds_and_episodes_within_their_limit(name: str, params: dict[str, Any]) -> None:
    world = make(name, params, 60)
    world.reset()
    limit = getattr(world.environment.params, "episode_length", np.inf)
    driver = Driver(world)
    for _ in range(60):
        last = values(world)["timestep"] + 1 >= limit
        driver.step()
        assert np.all(ended(world) | ~last)
        for array, view in values(world).items():
            assert np.all(np.isfinite(view)), array
            bounds = world.data.array(array).bounds
            if bounds is not None:
                assert np.all((view >= bounds[0]) & (view <= bounds[1])), array


@each_case
def test_observations_lie_in_the_declared_spaces(name: str, params: dict[str, Any]) -> None:
    world = make(name, params, 60)
    world.reset()
    driver = Driver(world)
    for _ in range(40):
        for group in world.groups.values():
            seen: Any = world.observations(group.name)
            for key, part in parts_of(group.observation).items():
                view = seen[key] if key else seen
                assert view.shape[1:] == (group.size, *part.shape)
                assert np.all((view.cpu().numpy() >= part.low) & (view.cpu().numpy() <= part.high))
        driver.step()


@each_kind
def test_timestep_and_clock_count(name: str, params: dict[str, Any]) -> None:
    world = make(name, params, 40)
    world.reset()
    driver = Driver(world)
    timestep, clock = values(world)["timestep"], values(world)["clock"]
    assert np.all(timestep == 0)
    ends = 0
    for _ in range(80):
        driver.step()
        now = values(world)
        np.testing.assert_array_equal(now["timestep"], np.where(ended(world), 0, timestep + 1))
        np.testing.assert_array_equal(now["clock"], clock + 1 + ended(world))  # the reset is one more
        ends += int(ended(world).sum())
        timestep, clock = now["timestep"], now["clock"]
    assert ends > 0


# ---- resets ---------------------------------------------------------------------------------------------------------


def without_resets(environment: Environment) -> Environment:
    """The same environment, whose episodes run on after their end."""

    class Endless(type(environment)):  # type: ignore[misc]
        source = str(environment.source_path())

        def resets(self) -> list[str]:
            return []

    given = [field.name for field in dataclasses.fields(environment.params) if field.init]
    return Endless(**{name: getattr(environment.params, name) for name in given})


@each_case
def test_auto_reset_leaves_rewards_ends_and_what_was_seen_last(name: str, params: dict[str, Any]) -> None:
    world = make(name, params, 50)
    twin = World(without_resets(world.environment), 50, "cpu", num_workers=1)
    for each in (world, twin):
        each.reset()
    observed = [array for array in twin.data if array.startswith("observations")]
    driver = Driver(world)
    ends = 0
    for _ in range(60):
        driver.act()
        for array in twin.data:
            twin[array] = world[array]
        world.step()
        twin.step()
        now, expected, over = values(world), values(twin), ended(world)
        for array in ("rewards", "terminated", "truncated"):
            np.testing.assert_array_equal(now[array], expected[array])
        for array in observed:
            np.testing.assert_array_equal(now[f"final_{array}"][over], expected[array][over])
        for array in per_env(twin):
            np.testing.assert_array_equal(now[array][~over], expected[array][~over], err_msg=array)
        ends += int(over.sum())
    assert ends > 20


@each_kind
def test_a_masked_reset_leaves_the_other_envs_alone(name: str, params: dict[str, Any]) -> None:
    world = make(name, params, 50)
    world.reset()
    driver = Driver(world)
    for _ in range(7):
        driver.step()
    before = values(world)
    mask = torch.arange(50) % 3 == 1
    world.reset(mask)
    after, chosen = values(world), mask.cpu().numpy()
    for array in per_env(world):
        assert after[array][~chosen].tobytes() == before[array][~chosen].tobytes(), array
    for array in world.data:
        if world.data.array(array).per == "world":
            assert after[array].tobytes() == before[array].tobytes(), array
    assert not np.any(after["timestep"][chosen]) and not np.any(ended(world)[chosen])
    np.testing.assert_array_equal(after["clock"][chosen], before["clock"][chosen] + 1)


@each_case
def test_nothing_of_an_episode_shows_in_the_next(name: str, params: dict[str, Any]) -> None:
    """With the clock, and so the random numbers, of a fresh world, a reset ends where that world begins."""
    used, fresh = make(name, params, 30), make(name, params, 30)
    fresh.reset()
    used.reset()
    driver = Driver(used)
    for _ in range(12):
        driver.step()
    used["clock"] = 0
    used.reset()
    now, expected = values(used), values(fresh)
    for array in per_env(used):
        of_the_last_step = array.startswith(("actions", "final_", "rewards", "agent_mask", "agent_terminated"))
        if not of_the_last_step and used.data.array(array).on_reset != "keep":
            assert now[array].tobytes() == expected[array].tobytes(), array


# ---- the same trajectory ---------------------------------------------------------------------------------------------


@each_case
def test_the_trajectory_of_an_env_depends_on_nothing_around_it(name: str, params: dict[str, Any]) -> None:
    """Not on the number of envs, nor on which process the env lies in."""
    trajectories = [trajectory_of(make(name, params, num_envs), 3, 60) for num_envs in (4, 64, 500)]
    trajectories.append(trajectory_of(make(name, params, 5, first_env=2), 1, 60, first_env=2))
    for alike in zip(*trajectories, strict=True):
        for other in alike[1:]:
            assert_equal(alike[0], other)


@pytest.mark.heavy  # a build of its own
@pytest.mark.cpu_backend
@each_kind
def test_kernels_as_users_compile_them_walk_the_same_trajectory(
    name: str, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The optimiser changes no bit. Checks find what a kernel reads outside its arrays or leaves undefined."""
    worlds = []
    for flags in ("-O1", ""):
        monkeypatch.setenv("WARPWORLD_KERNELFLAGS", flags)
        worlds.append(make(name, params, 40))
    assert assert_same_trajectory(*worlds, 100) > 20


@pytest.mark.cpu_backend
@each_kind
def test_workers_change_no_bit_of_any_env(name: str, params: dict[str, Any]) -> None:
    for num_workers in (2, 3):
        assert (
            assert_same_trajectory(make(name, params, 500), make(name, params, 500, num_workers=num_workers), 30) > 100
        )


@pytest.mark.parametrize(
    ("name", "params"),
    [
        pytest.param(
            *case.values,
            id=case.id,
            marks=[
                *case.marks,
                *([pytest.mark.slow] if case.id in SEEN_BY_OTHERS else [pytest.mark.heavy] if case.id in HEAVY else []),
            ],
        )
        for case in framework_s(CASES)
    ],
)
def test_packed_envs_run_the_same_trajectory(name: str, params: dict[str, Any]) -> None:
    """Several envs to a warp, with lanes that sit a launch out: what a GPU may do."""
    agents = make(name, params, 1).num_agents
    most = open_backend("cpu").warp_size // agents
    assert most > 0, "give this environment a small case"
    for envs_per_warp in sorted({1, max(most // 2, 1), most}) if name in PACKED_IN_EVERY_WAY else (most,):
        num_envs = 2 * most + 3  # the last warp is not full
        try:
            packed = make(name, params, num_envs, envs_per_warp=envs_per_warp)
        except BuildError as error:  # as many views of pixels do not fit a block's memory on a GPU
            assert "bytes among a block's threads, which may share" in str(error)
            continue
        assert assert_same_trajectory(make(name, params, num_envs), packed, 200) > 50


@each_kind
def test_a_snapshot_continues_exactly(name: str, params: dict[str, Any]) -> None:
    world = make(name, params, 40)
    world.reset()
    driver = Driver(world)
    for _ in range(20):
        driver.step()
    snapshot = world.snapshot()
    trajectories = []
    for _ in range(2):
        world.restore(snapshot)
        driver = Driver(world, seed=1)
        trajectories.append([])
        for _ in range(30):
            driver.step()
            trajectories[-1].append(values(world))
    for first, second in zip(*trajectories, strict=True):
        assert_equal(first, second)
    other = make(name, params, 40)
    other.reset()
    other.restore(snapshot)
    Driver(other, seed=1).step()
    assert_equal(values(other), trajectories[0][0])


@each_kind
def test_worlds_in_one_process_do_not_disturb_each_other(name: str, params: dict[str, Any]) -> None:
    """Worlds that share a compiled module, stepped in turn and each by itself."""
    longer = of_length(name, params, params.get(LENGTH.get(name, "episode_length"), 10) + 3)
    settings = [(params, 20, 1), (params, 33, 2), (longer, 20, 1)]

    def worlds() -> list[World]:
        return [make(name, chosen, num_envs, seed=seed) for chosen, num_envs, seed in settings]

    alone = [[part["rewards"] for part in trajectory_of(world, 3, 40)] for world in worlds()]
    together = zip(*(trajectory_of(world, 3, 40) for world in worlds()), strict=True)
    for step, parts in enumerate(together):
        for rewards, part in zip(alone, parts, strict=True):
            np.testing.assert_array_equal(rewards[step], part["rewards"])


def test_seeds_change_the_trajectory() -> None:
    first, second = (make("cartpole", {}, 10, seed=seed) for seed in (0, 1))
    for world in (first, second):
        world.reset()
    assert not torch.equal(first["state"], second["state"])


# ---- building and memory --------------------------------------------------------------------------------------------


@pytest.mark.cpu_backend  # what is compiled is settled before a backend is asked to
@each_kind
def test_only_compile_time_parameters_compile(
    name: str, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WARPWORLD_CACHE", str(tmp_path))

    def count_after(chosen: dict[str, Any], num_envs: int, seed: int = 0) -> int:
        world = make(name, chosen, num_envs, seed=seed)
        world.reset()
        world.step()
        return len([path for path in cache_folder().iterdir() if path.suffix in (".so", ".cubin")])

    once = count_after(params, 4)
    assert once > 0
    assert count_after(params, 7, seed=9) == once
    assert count_after(of_length(name, params, 3), 4) == once


@pytest.mark.long
def test_the_length_of_episodes_is_compiled_into_no_kernel() -> None:
    lengths = {name: LENGTH.get(name, "episode_length") for name in NAMES if name not in BY_RULES_ALONE}
    assert [name for name, length in lengths.items() if length in get_environment(name).compile_time] == []
    assert [name for name, length in lengths.items() if not hasattr(get_environment(name)().params, length)] == []


@each_kind
def test_torch_numpy_and_kernels_share_one_memory(name: str, params: dict[str, Any]) -> None:
    world = make(name, params, 8)
    world.reset()
    pointers = {array: world[array].data_ptr() for array in world.data}
    viewed = {array: world.data.numpy(array) for array in world.data}
    assert pointers == {array: world.data.pointer(array) for array in world.data}
    Driver(world).step()
    assert pointers == {array: world[array].data_ptr() for array in world.data}
    if world.device.type != "cpu":
        return  # NumPy's are copies
    assert np.all(viewed["clock"] == world.data.numpy("clock")) and np.all(viewed["clock"] > 0)
    for array, view in viewed.items():
        assert np.shares_memory(view, world.data.numpy(array))


# ---- the packed build finds a missing guard -------------------------------------------------------------------------

GUARD = "if (!is_active()) return;  // guard"
COUNTERS = """\
#include <warpworld.cuh>

extern "C" __global__ void step(int* count, const int* limits, bool* terminated, float* observations, float* rewards) {
  %(step)s
  count[agent_index()] += 1;
  observations[agent_index()] = rewards[agent_index()] = (float)count[agent_index()];
  if (agent_id() == 0) terminated[env_id()] = count[agent_index()] >= limits[env_id()];
}

extern "C" __global__ void reset(int* count, float* observations) {
  %(reset)s
  count[agent_index()] = 0;
  observations[agent_index()] = 0.0f;
}
"""


def counters(path: Path, envs_per_warp: int = 0) -> World:
    """13 envs with the kernels of this file: agents count, and envs end at different counts."""

    class Counters(Environment):
        source = str(path)

        def groups(self) -> list[Group]:
            return [Group("counter", 5, observation=Box(0.0, 100.0, (1,)), action=Discrete(2))]

        def arrays(self) -> list[Array]:
            limits = 2 + np.arange(13) % 4
            return [Array("count", "int32"), Array("limits", "int32", per="env", initial=limits, on_reset="keep")]

    return World(Counters(), 13, "cpu", num_workers=1, envs_per_warp=envs_per_warp)


@pytest.mark.long
@pytest.mark.cpu_backend  # on a GPU a plain build shows it too
@pytest.mark.parametrize("forgotten", ["", "step", "reset"])
def test_the_packed_trajectory_shows_a_forgotten_guard(forgotten: str, tmp_path: Path) -> None:
    source = tmp_path / "counters.cu"
    source.write_text(COUNTERS % {kernel: "" if kernel == forgotten else GUARD for kernel in ("step", "reset")})
    guarded = tmp_path / "guarded.cu"
    guarded.write_text(COUNTERS % {"step": GUARD, "reset": GUARD})
    assert assert_same_trajectory(counters(guarded), counters(source), 20) > 50, "plain builds run active agents only"
    for envs_per_warp in (2, 6):
        if forgotten:
            with pytest.raises(AssertionError, match="these arrays differ"):
                assert_same_trajectory(counters(source), counters(source, envs_per_warp), 20)
        else:
            assert assert_same_trajectory(counters(source), counters(source, envs_per_warp), 20) > 50
