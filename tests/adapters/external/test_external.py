"""Other libraries' envs behind the contract of a World."""

from __future__ import annotations

import copy
import re
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode

import warpworld
from tests.adapters.external.counting import LENGTHS
from warpworld import World
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError, StoreError, WarpworldError

pytestmark = pytest.mark.cpu_backend  # other libraries step on the host


def external(num_envs: int, seed: int = 0, **params: Any) -> World:
    return World(get_environment("external")(**params), num_envs, "cpu", seed)


def counted(num_envs: int = 3, **options: Any) -> World:
    return external(num_envs, library="tests.adapters.external.counting:counting", options=options)


def arrays(world: World, *names: str) -> list[list[Any]]:
    return [world.data.numpy(name).reshape(world.num_envs, -1).tolist() for name in names]


# ---- gymnasium -------------------------------------------------------------------------------------------------------
def test_the_trajectory_is_the_librarys() -> None:
    world = external(5, seed=3, id="CartPole-v1")
    world.request("final_observations")
    envs = gymnasium.make_vec("CartPole-v1", 5, "sync", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP})
    world.reset()
    expected, ends = envs.reset(seed=3)[0], 0
    generator = np.random.default_rng(0)
    for _ in range(80):
        assert (world.data.numpy("observations")[:, 0] == expected).all()
        actions = generator.integers(0, 2, 5)
        world["actions"] = torch.from_numpy(actions.astype(np.int32))[:, None, None]
        world.step()
        expected, rewards, terminated, truncated, infos = envs.step(actions)
        assert (world.data.numpy("rewards")[:, 0] == rewards).all()
        assert (world.data.numpy("terminated") == terminated).all()
        assert (world.data.numpy("truncated") == truncated).all()
        for env in np.flatnonzero(terminated):
            assert (world.data.numpy("final_observations")[env, 0] == infos["final_obs"][env]).all()
            ends += 1
    assert ends > 5


def test_part_of_a_world_has_its_own_seeds() -> None:
    whole, part = (
        external(4, seed=9, id="CartPole-v1"),
        World(get_environment("external")(id="CartPole-v1"), 2, "cpu", 9, first_env=2),
    )
    for world in (whole, part):
        world.reset()
    assert torch.equal(whole["observations"][2:], part["observations"])


# ---- when ended envs are reset ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["SAME_STEP", "DISABLED"])
def test_envs_that_reset_at_once_or_on_request(mode: str) -> None:
    world = counted(mode=mode)
    world.request("final_observations")
    world.reset()
    world["actions"] = 1
    episodes, steps = np.ones(3), np.zeros(3)
    for _ in range(30):
        world.step()
        steps += 1
        over = steps == LENGTHS
        seen = np.stack([episodes, steps], 1)
        assert (world.data.numpy("rewards")[:, 0] == 10 * steps + 6).all()
        assert (world.data.numpy("terminated") == over & np.array([True, False, True])).all()
        assert (world.data.numpy("truncated") == over & np.array([False, True, False])).all()
        assert (world.data.numpy("final_observations")[over, 0] == seen[over]).all()
        episodes, steps = episodes + over, np.where(over, 0, steps)
        assert (world.data.numpy("observations")[:, 0] == np.stack([episodes, steps], 1)).all()
        assert (world.data.numpy("timestep") == steps).all()


def test_a_step_in_which_an_env_only_resets_is_nobodys() -> None:
    world = counted(mode="NEXT_STEP")
    world.reset()
    seen = []
    for _ in range(7):
        world.step()
        row = arrays(world, "observations", "rewards", "terminated", "agent_mask", "timestep")
        seen.append([row[0][0], *(part[0][0] for part in row[1:])])
    assert seen == [
        [[1, 1], 15, False, True, 1],
        [[1, 2], 25, True, True, 0],
        [[2, 0], 0, False, False, 0],  # only reset
        [[2, 1], 15, False, True, 1],
        [[2, 2], 25, True, True, 0],
        [[3, 0], 0, False, False, 0],
        [[3, 1], 15, False, True, 1],
    ]


def test_resets_in_the_middle_of_episodes() -> None:
    world = counted()
    world.reset()
    world.step()
    world.reset(torch.tensor([False, False, True]))
    assert arrays(world, "observations")[0] == [[1, 1], [1, 1], [2, 0]]
    world.step()
    assert arrays(world, "observations")[0] == [[2, 0], [1, 2], [2, 1]]
    waiting = counted(mode="NEXT_STEP")
    waiting.reset()
    waiting.step()
    with pytest.raises(StoreError) as caught:
        waiting.reset(torch.tensor([False, True, True]))
    assert str(caught.value) == (
        "external: env 1 has not ended, and Counting resets envs in the step after their end only"
    )


# ---- other libraries -------------------------------------------------------------------------------------------------
@pytest.mark.long
def test_envpool() -> None:
    envpool = pytest.importorskip("envpool")
    world = external(4, seed=5, library="envpool", id="CartPole-v1")
    pool = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=4, seed=5)
    world.request("final_observations")
    world.reset()
    expected, ends = np.array(pool.reset()[0]), 0
    for step in range(60):
        assert (world.data.numpy("observations")[:, 0] == expected).all()
        actions = np.full(4, step // 2 % 2, np.int32)
        world["actions"] = torch.from_numpy(actions)[:, None, None]
        world.step()
        seen, rewards, terminated, truncated, _ = pool.step(actions)
        over = terminated | truncated
        assert (world.data.numpy("rewards")[:, 0] == rewards).all()
        assert (world.data.numpy("terminated") == terminated).all()
        assert (world.data.numpy("final_observations")[over, 0] == seen[over]).all()
        expected = np.array(seen)
        if over.any():
            expected[over] = pool.reset(np.flatnonzero(over).astype(np.int32))[0]
        ends += int(over.sum())
    assert ends > 3


@pytest.mark.long
def test_atari_keeps_bytes() -> None:
    ale = pytest.importorskip("ale_py.vector_env")
    options = {"img_height": 21, "img_width": 16, "stack_num": 2, "noop_max": 3}
    world = external(2, seed=5, library="ale", id="pong", options=options)
    envs = ale.AtariVectorEnv("pong", 2, autoreset_mode=AutoresetMode.SAME_STEP, **options)
    world.reset()
    expected = envs.reset(seed=5)[0]
    for step in range(20):
        assert world["observations"].dtype == torch.uint8
        assert (world.data.numpy("observations")[:, 0] == expected).all()
        actions = np.array([2 + step // 3 % 2, 0])
        world["actions"] = torch.from_numpy(actions.astype(np.int32))[:, None, None]
        world.step()
        expected = envs.step(actions)[0]
    assert expected.any()


@pytest.mark.long
def test_agents_of_several_kinds_leave() -> None:
    pytest.importorskip("pettingzoo")
    world = external(2, library="pettingzoo", id="tests.adapters.external.race", options={"limit": 3})
    world.reset()
    assert [(group.name, group.size) for group in world.groups.values()] == [("hare", 2), ("snail", 1)]
    world["actions"] = torch.tensor([1, 1, 2], dtype=torch.int32).expand(2, 3)[..., None]
    seen, none = [], [False] * 3
    for _ in range(4):
        world.step()
        ends = ("agent_terminated", "agent_truncated", "terminated", "truncated")
        names = ("rewards", "agent_mask", *ends, "observations_snail_far")
        seen.append([part[1] for part in arrays(world, *names)])
    assert seen == [
        [[1, 1, 2], [True] * 3, none, none, [False], [False], [2]],
        [[2, 2, 4], [True] * 3, [False, True, False], none, [False], [False], [4]],
        [[3, 0, 6], [True, False, True], none, [True, False, True], [False], [True], [0]],
        [[1, 1, 2], [True] * 3, none, none, [False], [False], [2]],
    ]
    assert world["observations_snail_slow"].tolist() == [[[1, 200]]] * 2


# ---- as any other world ----------------------------------------------------------------------------------------------
def test_states_are_not_in_the_store() -> None:
    world = counted()
    world.reset()
    for act, what in (
        (lambda: world.state([0]), "state"),
        (lambda: world.set_state([0], torch.zeros(1, 9, dtype=torch.uint8)), "set_state"),
        (lambda: world.fork(0, [1]), "fork"),
    ):
        with pytest.raises(StoreError) as caught:
            act()
        assert str(caught.value) == (
            f"{what}(): envs of 'external' keep their state outside of the store, and it cannot be taken: "
            "Counting gives no state of an env"
        )
    with pytest.raises(StoreError, match="external: the environment cannot be copied, so neither can its world"):
        copy.deepcopy(world)
    with pytest.raises(DeclarationError, match="external: phase 'step' is Python and may change envs that sit out"):
        world.step_some(torch.ones(3, dtype=torch.bool))
    with pytest.raises(DeclarationError, match="external: there is nothing to check"):
        warpworld.check("external", id="CartPole-v1")


def test_seeds_are_settled_where_the_world_is_made() -> None:
    world = counted()
    world.reset()
    with pytest.raises(StoreError) as caught:
        world.reset(seed=3)
    assert str(caught.value) == (
        "reset(seed=): envs of 'external' draw their random numbers outside of the store; give the seed where the "
        "world is made"
    )


def test_one_external_is_of_one_world() -> None:
    environment = get_environment("external")(library="tests.adapters.external.counting:counting")
    world = World(environment, 3, "cpu")
    world.reset()
    with pytest.raises(DeclarationError, match="its envs belong to a world already; make another External"):
        World(environment, 3, "cpu").reset()
    world.close()
    World(environment, 2, "cpu").reset()


# ---- what is wrong ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"id": "CartPol-v1"}, "external: gymnasium has no environment 'CartPol-v1'. Did you mean 'CartPole-v1'?"),
        (
            {"library": "gymnasim", "id": "CartPole-v1"},
            "external: library='gymnasim', expected one of gymnasium, envpool, ale, pettingzoo, or module:function. "
            "Did you mean 'gymnasium'?",
        ),
        (
            {"library": "tests.adapters.external.counting:missing"},
            "external: library 'tests.adapters.external.counting:missing' cannot be imported: module "
            "'tests.adapters.external.counting' has no attribute 'missing'",
        ),
        (
            {"library": "tests.adapters.external.counting:nothing"},
            "external: tests.adapters.external.counting:nothing returned str, expected a gymnasium VectorEnv",
        ),
        (
            {"library": "pettingzoo", "id": "no.such_env"},
            "external: id='no.such_env' is not the module of a PettingZoo environment, such as mpe2.simple_spread_v3: "
            "No module named 'no'",
        ),
    ],
)
def test_what_is_no_environment(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        get_environment("external")(**params)
    assert str(caught.value) == message


def test_spaces_that_a_store_cannot_hold() -> None:
    with pytest.raises(WarpworldError, match=re.escape("group 'agent': observation is Text(1, 5")):
        external(2, library="tests.adapters.external.counting:wordy").reset()


@pytest.mark.long
def test_names_of_other_libraries() -> None:
    pytest.importorskip("envpool")
    with pytest.raises(DeclarationError, match=r"envpool has no environment 'Pong-v6'\. Did you mean 'Pong-v5'\?"):
        get_environment("external")(library="envpool", id="Pong-v6")
    pytest.importorskip("ale_py")
    with pytest.raises(DeclarationError, match=r"ale has no environment 'pog'\. Did you mean 'pong'\?"):
        get_environment("external")(library="ale", id="pog")


def test_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "envpool", None)
    with pytest.raises(DeclarationError) as caught:
        get_environment("external")(library="envpool", id="CartPole-v1")
    assert str(caught.value) == (
        "external: library 'envpool' needs envpool, which is not installed: pip install envpool"
    )
