"""Copies of adapters are whole, and what one hands out belongs to the caller alone."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warpworld
from tests.envs.small_worlds import framework_s
from warpworld import Group, World
from warpworld.environment import get_environment, packaged_names
from warpworld.errors import StoreError

ONE_ENV = ("single", "parallel", "aec", "gym", "gym21")
MADE: list[tuple[str, dict[str, Any]]] = [
    *[("gymnasium", {"autoreset": mode}) for mode in ("same_step", "next_step", "disabled")],
    ("gymnasium", {"agents": "rows", "copy": False}),
    *[(api, {}) for api in ("single", "sb3", "parallel", "aec", "dm", "gym", "gym21", "pool")],
    *[("parallel_vector", {"autoreset": mode}) for mode in ("same_step", "disabled")],
    ("pool", {"batch_size": 2}),
]
PACKAGES = {"parallel": "pettingzoo", "aec": "pettingzoo", "sb3": "stable_baselines3", "dm": "dm_env"}


def made(api: str, name: str = "tag_gridworld", **options: Any) -> Any:
    if api in PACKAGES:
        pytest.importorskip(PACKAGES[api])
    params = {"num_taggers": 2, "episode_length": 7} if name == "tag_gridworld" else {}
    return warpworld.make(name, None if api in ONE_ENV else 4, api=api, seed=3, **params, **options)


def begin(env: Any) -> Any:
    if hasattr(env, "async_reset") and env.is_async:
        env.async_reset()
        return None
    return env.reset()


def stepped(env: Any, number: int) -> Any:
    """What a step with actions that depend on the number returns; a new episode begins where one has ended."""
    if hasattr(env, "agent_selection"):
        if not env.agents:
            env.reset()
        *_, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else number % 5)
        return env.last() if env.agents else None
    if hasattr(env, "possible_agents"):
        if not env.agents:
            return env.reset()
        envs = (env.num_envs,) if hasattr(env, "num_envs") else ()
        return env.step({agent: np.full(envs, number % 5) for agent in env.agents})
    if hasattr(env, "recv"):
        if env.is_async:
            *_, infos = received = env.recv()
            env.send(np.full((2, *env.action_space.shape), number % 5), infos["env_id"])
            return received
        return env.step(np.full((4, *env.action_space.shape), number % 5))
    if hasattr(env, "action_spec"):
        shape: tuple[int, ...] = (4, *env.action_spec().shape)
    else:
        lead = (env.num_envs,) if hasattr(env, "env_method") else ()
        shape = (*lead, *env.action_space.shape)
    try:
        return env.step(np.full(shape, number % 5))
    except StoreError:  # the episode has ended, or those of all envs
        return env.reset()


def equal(one: Any, other: Any) -> bool:
    """Whether two results have the same values, bit for bit."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()


def worlds_of(env: Any) -> list[World]:
    while not hasattr(env, "world") and not hasattr(env, "worlds"):
        env = env.env
    return env.worlds if hasattr(env, "worlds") else [env.world]


def memory(env: Any) -> list[bytes]:
    return [world.snapshot().cpu().numpy().tobytes() for world in worlds_of(env)]


@pytest.mark.long
@pytest.mark.parametrize(("api", "options"), MADE)
def test_a_deep_copy_is_whole(api: str, options: dict[str, Any]) -> None:
    env = made(api, **options)
    early = copy.deepcopy(env)
    begin(env)
    for number in range(10):
        stepped(env, number)
    twin = copy.deepcopy(env)
    before = memory(env)
    if api != "pool":  # whose thread steps what was sent
        for number in range(3):
            stepped(copy.deepcopy(twin), number)
        assert memory(env) == before == memory(twin)
    for number in range(12):
        assert equal(copy.deepcopy(stepped(twin, 3 * number)), copy.deepcopy(stepped(env, 3 * number))), number
    begin(early)
    twin.close()
    stepped(env, 0)


@pytest.mark.parametrize(("api", "options"), MADE[3:])
@pytest.mark.parametrize("duplicate", [copy.copy, pickle.dumps])
def test_copies_that_would_share_the_world_are_refused(
    api: str, options: dict[str, Any], duplicate: Callable[[Any], Any]
) -> None:
    env = made(api, **options)
    with pytest.raises(StoreError) as caught:
        duplicate(env)
    assert str(caught.value) == (
        f"{type(env).__name__} steps a World, which is bound to memory and kernels of this process, so pickle and "
        "copy.copy cannot copy it. Use copy.deepcopy in this process, world.fork() for single envs of a world, or save "
        "world.snapshot() and restore() it in an env made in the same way"
    )


def test_a_copy_waits_for_ended_envs_as_the_original_does() -> None:
    envs = made("gymnasium", autoreset="disabled")
    envs.reset()
    for _ in range(7):
        envs.step(np.zeros(12, int))
    twin = copy.deepcopy(envs)
    for each in (twin, envs):
        with pytest.raises(StoreError, match=r"have ended; reset them with"):
            each.step(np.zeros(12, int))
    twin.reset()
    with pytest.raises(StoreError, match="have ended"):
        envs.step(np.zeros(12, int))


def test_gymnasium_s_wrappers_are_copied_too() -> None:
    import gymnasium

    env = gymnasium.make("warpworld/cartpole")
    env.reset(seed=1)
    twin = copy.deepcopy(env)
    seen = [twin.step(1)[0] for _ in range(3)]
    assert [seen.tolist() for seen in seen] == [env.step(1)[0].tolist() for _ in range(3)]


@pytest.mark.parametrize("api", ["gymnasium", "pool", "world"])
def test_a_closed_env_is_not_copied(api: str) -> None:
    env = made(api)
    env.close()
    with pytest.raises(StoreError, match=r"^the world is closed$"):
        copy.deepcopy(env)


# ---- spaces and generators -----------------------------------------------------------------------------------------
def spaces_of(env: Any) -> list[Any]:
    if hasattr(env, "possible_agents"):
        return [space(agent) for agent in env.possible_agents for space in (env.action_space, env.observation_space)]
    names = ("action_space", "observation_space", "single_action_space", "single_observation_space")
    return [getattr(env, name) for name in names if hasattr(env, name)]


def parts_of(space: Any) -> list[Any]:
    return [space, *(part for each in getattr(space, "spaces", {}).values() for part in parts_of(each))]


@pytest.mark.parametrize("api", ["gymnasium", "single", "sb3", "parallel", "aec", "parallel_vector", "gym", "pool"])
def test_no_two_envs_and_no_two_agents_share_a_space(api: str) -> None:
    env, other = made(api, "particles_spread"), made(api, "particles_spread")
    found = [part for each in (env, other, copy.deepcopy(env)) for space in spaces_of(each) for part in parts_of(space)]
    assert len({id(space) for space in found}) == len(found) > 5
    assert len({id(space.np_random) for space in found}) == len(found)


@pytest.mark.long
@pytest.mark.parametrize("name", framework_s(packaged_names()))
def test_no_two_worlds_and_no_two_groups_share_a_space(name: str) -> None:
    groups = [group for _ in range(2) for group in get_environment(name)().groups()]
    found = [part for group in groups for space in (group.action, group.observation) for part in parts_of(space)]
    assert len({id(space) for space in found}) == len(found)


def test_a_group_owns_its_spaces() -> None:
    from gymnasium.spaces import Box, Dict, Discrete

    moves, seen = Discrete(5), Dict({"here": Box(0.0, 1.0, (2,))})
    one, other = (Group(name, 1, seen, moves) for name in ("one", "other"))
    moves.seed(1)
    one.action.seed(2)
    state = other.action.np_random.bit_generator.state
    one.action.sample()
    moves.sample()
    assert other.action.np_random.bit_generator.state == state
    assert one.observation == seen and one.observation["here"] is not other.observation["here"]


# ---- what a call hands out -----------------------------------------------------------------------------------------
def arrays_in(value: Any) -> list[Any]:
    """The arrays and containers in what a call returned."""
    if isinstance(value, dict):
        return [value, *(found for each in value.values() for found in arrays_in(each))]
    if isinstance(value, (list, tuple)):
        return [*([value] if isinstance(value, list) else []), *(found for each in value for found in arrays_in(each))]
    return [value] if isinstance(value, np.ndarray) else []


def spoil(value: Any) -> None:
    """Write over all that a call returned."""
    for found in arrays_in(value):
        if isinstance(found, dict):
            found["spoilt"] = 1
        elif isinstance(found, list):
            found.append({"spoilt": 1})
        elif found.flags.writeable:
            found[...] = 99 if found.dtype.kind in "iuf" else 1


@pytest.mark.parametrize(
    ("api", "options"), [(api, options) for api, options in MADE if api != "aec" and not options.get("agents")]
)
def test_a_caller_may_write_into_what_it_gets(api: str, options: dict[str, Any]) -> None:
    """No result is changed by the next step, nor does writing into it change the next one."""
    env, other = made(api, **options), made(api, **options)
    begin(env)
    begin(other)
    kept: list[Any] = []
    for number in range(18):  # two episodes
        mine, theirs = stepped(env, number), stepped(other, number)
        assert equal(mine, theirs), number
        assert all(equal(now, before) for now, before in kept)
        kept.append((theirs, copy.deepcopy(theirs)))
        spoil(mine)


def test_env_ids_of_a_pool_are_the_caller_s() -> None:
    pool = made("pool", batch_size=2)
    pool.async_reset()
    pool.all_env_ids[:] = 9
    *_, infos = pool.recv()
    infos["env_id"][:] = 9
    *_, infos = pool.recv()
    pool.send(np.zeros((2, 3), int), infos["env_id"])
    assert pool.recv()[-1]["env_id"].tolist() == [2, 3]


def test_parameters_per_env_are_copied_from_the_caller_s_array() -> None:
    gravity = np.full(4, 5.0)
    world = warpworld.make("cartpole", 4, gravity=gravity)
    gravity[:] = 9.0
    world.reset()
    assert world["gravity"].tolist() == [5.0] * 4
