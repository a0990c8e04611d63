"""States of single envs: saved, written back and forked, each env then walking the trajectory that it should."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.small_worlds import each_kind
from tests.envs.trajectories import Driver, per_env, values
from warpworld import World
from warpworld.environment import get_environment
from warpworld.errors import StoreError
from warpworld.world.random import philox


def made(name: str = "cartpole", num_envs: int = 6, **params: Any) -> World:
    world = World(get_environment(name)(**params), num_envs, seed=4)
    world.reset()
    return world


def same_actions(world: World, driver: Driver) -> None:
    """Draw actions, and give every env those of env 0."""
    driver.act()
    for name in world.data:
        if name.startswith("actions"):
            world[name] = world[name][:1].expand_as(world[name]).clone()


@each_kind
def test_forks_walk_on_exactly(name: str, params: dict[str, Any]) -> None:
    world, alone = made(name, 4, **params), made(name, 4, **params)
    driver = Driver(world)
    for _ in range(5):
        driver.step()
    alone.restore(world.snapshot())
    world.fork(0, [1, 3])
    assert values(world)["observations" if "observations" in world else per_env(world)[0]][2].tobytes()
    for step in range(200):
        same_actions(world, driver)
        for array in world.data:
            if array.startswith("actions"):
                alone[array] = world[array]
        for each in (world, alone):
            each.step()
        now, expected = values(world), values(alone)
        for array in per_env(world):
            assert now[array][1].tobytes() == now[array][0].tobytes() == now[array][3].tobytes(), (array, step)
            assert now[array][0].tobytes() == expected[array][0].tobytes(), (array, step)
            assert now[array][2].tobytes() == expected[array][2].tobytes(), (array, step)


def test_reseeded_forks_part_at_the_next_draw() -> None:
    world = made(episode_length=4)
    world.fork(0, range(1, 6), reseed=True)
    world["actions"] = 0
    first = world["observations"].clone()
    assert all(torch.equal(first[0], other) for other in first[1:])
    for _ in range(4):
        world.step()
    starts = [tuple(row.flatten().tolist()) for row in world["observations"]]  # of the second episodes: drawn
    assert len(set(starts)) == 6


def test_every_reseeded_fork_draws_anew_and_the_same_in_another_world() -> None:
    def keys(world: World) -> list[int]:
        world.fork(0, [1, 2], reseed=True)
        return world["random_key"].tolist()

    world, other = made(), made()
    first, second = keys(world), keys(world)
    assert len({*first[:3], *second[1:3]}) == 5 and first[3:] == second[3:]
    assert [keys(other), keys(other)] == [first, second]
    assert world["random_stream"].tolist() == list(range(6))


def test_each_target_may_have_a_source_of_its_own() -> None:
    world = made()
    before = values(world)
    world.fork([4, 5], [0, 1])
    now = values(world)
    for array in per_env(world):
        assert now[array][:2].tobytes() == before[array][4:].tobytes(), array
        assert now[array][2:].tobytes() == before[array][2:].tobytes(), array


def test_states_go_into_other_envs_and_other_worlds() -> None:
    world, other = made(), made(num_envs=3)
    driver = Driver(world)
    for _ in range(7):
        driver.step()
    saved = world.state([2, 5])
    assert saved.dtype == torch.uint8 and saved.shape[0] == 2
    expected = values(world)
    other.set_state([1, 0], saved)
    now = values(other)
    for array in per_env(world):
        assert now[array][1].tobytes() == expected[array][2].tobytes(), array
        assert now[array][0].tobytes() == expected[array][5].tobytes(), array
    assert torch.equal(world.state(), world.state(range(6)))
    assert torch.equal(world.state(slice(2, 6, 3)), saved)
    many = [*range(6)] * 9  # more than the world has envs
    assert torch.equal(world.state(many), world.state().repeat(9, 1))


def rows_of(world: World) -> torch.Tensor:
    """The states' bytes behind their layout, put together by torch from each array's."""
    taken = [name for name in world.data.names("state") if world.data.array(name).per != "world"]
    parts = [world[name] for name in taken if name not in ("active", "resetting")]
    return torch.cat([part.reshape(world.num_envs, -1).view(torch.uint8).cpu() for part in parts], 1)


@each_kind
def test_states_are_the_bytes_of_the_arrays(name: str, params: dict[str, Any]) -> None:
    world = made(name, 21, **params)  # more than a block takes, and not a multiple of it
    Driver(world).step()
    saved, before = world.state(), rows_of(world)
    assert torch.equal(saved[:, 8:].cpu(), before)
    world.set_state(range(20, -1, -1), saved)
    assert torch.equal(rows_of(world), before.flip(0))


@pytest.mark.parametrize("sources", [[1, 0, 5, 3], [4, 4, 1, 4]])
def test_envs_that_are_sources_and_targets(sources: list[int]) -> None:
    world = made()
    Driver(world).step()
    expected = rows_of(world)
    expected[[0, 1, 3, 5]] = expected[sources]
    world.fork(sources, [0, 1, 3, 5])
    assert torch.equal(rows_of(world), expected)


def test_of_an_env_that_is_named_twice_the_last_state_stays() -> None:
    world, other = made(), made()
    before = rows_of(world)
    world.fork([4, 5, 3], [0, 1, 0])
    other.set_state([0, 1, 0], other.state([4, 5, 3]))
    for each in (world, other):
        assert torch.equal(rows_of(each), before[[3, 5, 2, 3, 4, 5]])
    states = world.state([2, 2, 0, 2, 2, 2, 2, 2])[:, 8:].cpu()
    assert torch.equal(states, before[[2, 2, 3, 2, 2, 2, 2, 2]])


def test_a_reseeded_fork_draws_what_no_env_draws() -> None:
    world = made(num_envs=40)
    keys, streams = world["random_key"].view(torch.int64).cpu().clone(), torch.arange(40)
    world.fork(3, [*range(40), 7], reseed=True)
    zero = torch.zeros_like(keys)
    words = philox((zero, streams, zero, zero + 0xFFFE), keys)
    assert torch.equal(world["random_key"].view(torch.int64).cpu(), words[0] | words[1] << 32)
    assert world["random_stream"].tolist() == list(range(40))


def test_a_source_and_a_flag_of_numpy() -> None:
    world, other = made(num_envs=256), made(num_envs=256)
    Driver(world).step()
    other.restore(world.snapshot())
    world.fork(np.uint8(255), np.array([0, 255], np.uint8), reseed=np.True_)
    other.fork(255, [0, 255], reseed=True)
    assert torch.equal(rows_of(world), rows_of(other))


def test_indices_may_be_arrays_and_tensors() -> None:
    world = made()
    expected = world.state([1, 4])
    for envs in (np.array([1, 4], np.uint8), torch.tensor([1, 4], device=world.device), (1, 4), range(1, 6, 3)):
        assert torch.equal(world.state(envs), expected)
    for nothing in ([], slice(3, 3), range(9, 9), np.empty(0, np.int64)):
        assert world.state(nothing).shape == (0, expected.shape[1])
        world.fork(0, nothing)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda world: world.state(torch.ones(6, dtype=torch.bool)),
            "envs: shape (6,) bool, expected a row of indices, whole numbers",
        ),
        (
            lambda world: world.fork(0, np.array([[1.0]])),
            "targets: shape (1, 1) float64, expected a row of indices, whole numbers",
        ),
        (lambda world: world.state(range(3, 9, 2)), "envs: 7 is not one of this world's envs, which are 0 to 5"),
        (lambda world: world.state([6]), "envs: 6 is not one of this world's envs, which are 0 to 5"),
        (lambda world: world.fork(-1, [2]), "source: -1 is not one of this world's envs, which are 0 to 5"),
        (lambda world: world.fork(0, [7]), "targets: 7 is not one of this world's envs, which are 0 to 5"),
        (lambda world: world.fork([0, 1], [2, 3, 4]), "source: 2 envs, expected one, or one for each of 3 targets"),
        (
            lambda world: world.set_state([0], world.state([0, 1])),
            "states: shape (2, {width}) uint8, expected (1, {width}) uint8, as state() of this world returns",
        ),
        (
            lambda world: world.set_state([0], world.state([0]).float()),
            "states: shape (1, {width}) float32, expected (1, {width}) uint8, as state() of this world returns",
        ),
        (
            lambda world: world.set_state([0], torch.zeros_like(world.state([0]))),
            "states: they come from a world with other arrays",
        ),
    ],
)
def test_what_is_refused(act: Any, message: str) -> None:
    world = made()
    before = world.snapshot()
    with pytest.raises(StoreError) as caught:
        act(world)
    assert str(caught.value) == message.format(width=world.state([0]).shape[1])
    assert torch.equal(world.snapshot(), before)


def test_a_closed_world_does_nothing_more() -> None:
    with made() as world:
        world.step()
        kept = world["observations"].clone()
        view = world["observations"]
    world.close()
    some = torch.ones(6, dtype=torch.bool, device=kept.device)
    for act in (world.step, world.reset, world.seal, world.snapshot, world.state, lambda: world.step_some(some)):
        with pytest.raises(StoreError, match=r"^the world is closed$"):
            act()
    with pytest.raises(StoreError, match=r"^the world is closed$"):
        world["observations"]
    assert torch.equal(view, kept)  # memory that is still looked at stays


def test_how_they_show_themselves() -> None:
    assert re.fullmatch("<World cartpole: 6 envs of 1 agent on [a-z]+>", repr(made()))
    tag = World(get_environment("tag_gridworld")(num_taggers=4), 1)
    assert repr(tag).startswith("<World tag_gridworld: 1 env of 5 agents on ")
    assert repr(tag.data).startswith(f"<DataManager: {len(tag.data)} arrays, ")


def test_a_step_with_actions_tells_what_to_write() -> None:
    world = made()
    with pytest.raises(TypeError) as caught:
        world.step(torch.zeros(6))  # type: ignore[call-arg]
    assert str(caught.value).startswith(
        "World.step() reads actions from the store: write world['actions'] = actions, then world.step(). World.step()"
    )


@pytest.mark.parametrize("envs", [range(2, 5), slice(2, 5), slice(-4, -1), np.arange(2, 5), range(4, 1, -1), [4, 3, 2]])
def test_neighbours_are_named_in_any_way(envs: Any) -> None:
    """A range of neighbours takes no copy of their indices."""
    world, other = made(), made()
    for _ in range(3):
        world.step()
    one_by_one = torch.cat([world.state([env]) for env in range(6)])
    expected = one_by_one[list(range(6)[envs] if isinstance(envs, slice) else envs)]
    assert torch.equal(world.state(envs), expected)
    other.set_state(envs, expected)
    assert torch.equal(other.state([2, 3, 4]), one_by_one[2:5])


@pytest.mark.parametrize("sources", [range(3), range(1, 4), [2, 1, 0], [0, 1, 2]])
def test_sources_are_read_before_targets_are_written(sources: Any) -> None:
    world = made()
    before = world.state()
    world.fork(sources, range(2, 5))
    expected = before.clone()
    expected[2:5] = before[list(sources)]
    assert torch.equal(world.state(), expected)
