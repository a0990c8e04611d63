"""Agents that leave and return are visible through every adapter, and a row ends with its agent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import warpworld
from tests.adapters.worlds import PARAMS
from tests.toys import environment
from warpworld import Array, Group, World, masked_phase
from warpworld.adapters.pool import Pool
from warpworld.adapters.single import Env
from warpworld.adapters.vector import VectorEnv
from warpworld.world.reserved import ON_REQUEST

LENGTH = 4  # steps of an episode


def leaving(num_envs: int = 2, groups: list[Group] | None = None, cuts: bool = False, **options: Any) -> World:
    """Agent k's part ends in step k + 1, or is cut; it earns its number in tens and the step, and sees the same."""

    @masked_phase
    def act(arrays: Any, active: Any) -> None:
        import torch

        def write(name: str, place: Any, values: Any) -> None:
            arrays[name][place] = torch.where(active, values, arrays[name][place])

        step = arrays["timestep"]
        for agent in range(3):
            shown, at = (10 * agent + step).float(), (slice(None), agent)
            write(end, at, step == agent + 1)
            write("agent_mask", at, step <= agent + 1)
            write("rewards", at, shown)
            for name, numbers in by_name.items():
                if agent in numbers:
                    write(name, (slice(None), numbers.index(agent), 0), shown)
        write("truncated", slice(None), step >= LENGTH)

    seen, moves = Box(-np.inf, np.inf, (1,)), Discrete(2)
    groups = groups or [Group("wolf", 1, seen, moves), Group("sheep", 2, seen, moves)]
    apart = any(group.agents is not None for group in groups)
    by_name: dict[str, list[int]] = (
        {f"observations_{group.name}": list(group.agents or ()) for group in groups}
        if apart
        else {"observations": [0, 1, 2]}
    )
    end = "agent_truncated" if cuts else "agent_terminated"
    made = World(environment(None, groups=groups, phases=[act], resets=[]), num_envs, "cpu", **options)
    for name in (end, "agent_mask"):
        if name in ON_REQUEST:
            made.request(name)
        else:
            made.add(Array(name, "bool", initial=False))
    return made


def test_rows_end_with_their_agents_in_the_same_step() -> None:
    envs = VectorEnv(leaving())
    assert envs.row_groups == ("wolf", "sheep", "sheep") * 2
    _, infos = envs.reset()
    assert infos["group"].tolist() == ["wolf", "sheep", "sheep"] * 2
    assert infos["agent_mask"].all() and not infos["agent_terminated"].any()
    steps = [envs.step(np.zeros(6, int)) for _ in range(LENGTH)]
    ends = [terminated.tolist()[:3] for _, _, terminated, _, _ in steps]
    assert ends == [[True, False, False], [False, True, False], [False, False, True], [False, False, False]]
    masks = [infos["agent_mask"].tolist()[3:] for *_, infos in steps]
    assert masks == [[True, True, True], [False, True, True], [False, False, True], [False, False, False]]
    assert [infos["agent_terminated"].tolist()[:3] for *_, infos in steps] == ends
    *_, infos = steps[1]
    assert infos["_final_obs"].tolist() == [False, True, False] * 2 and infos["final_obs"][1] == [12.0]
    *_, truncated, infos = steps[-1]
    assert truncated.all() and infos["_final_obs"].all() and infos["final_obs"][2] == [24.0]


def test_rows_end_with_their_agents_where_envs_reset_in_the_next_step() -> None:
    envs = VectorEnv(leaving(autoreset="next_step"))
    envs.reset()
    steps = [envs.step(np.zeros(6, int)) for _ in range(LENGTH + 2)]
    assert [terminated[:3].tolist() for _, _, terminated, *_ in steps] == [
        *([True, False, False], [False, True, False], [False, False, True]),
        *([False] * 3, [False] * 3, [True, False, False]),
    ]
    *_, infos = steps[LENGTH]  # in which a new episode begins
    assert infos["agent_mask"].all()


def test_a_caller_that_resets_envs_is_shown_their_ends_alone() -> None:
    envs = VectorEnv(leaving(autoreset="disabled"))
    envs.reset()
    for step in range(LENGTH):
        _, _, terminated, truncated, infos = envs.step(np.zeros(6, int))
        assert not terminated.any() and truncated.all() == (step == LENGTH - 1)
        assert infos["agent_terminated"].tolist() == [step == agent for agent in range(3)] * 2
    _, infos = envs.reset(options={"reset_mask": np.array([False] * 3 + [True] * 3)})
    assert infos["agent_mask"].tolist() == [False] * 3 + [True] * 3


def test_an_axis_of_agents_shows_who_takes_part() -> None:
    envs = VectorEnv(leaving(), agents="axis")
    _, infos = envs.reset()
    assert "group" not in infos and envs.row_groups == ("wolf", "sheep", "sheep")
    for _ in range(2):
        _, _, terminated, _, infos = envs.step(np.zeros((2, 3), int))
    assert infos["agent_mask"].tolist() == [[False, True, True]] * 2 and not terminated.any()
    env = Env(leaving(1, autoreset="disabled"))
    env.reset()
    for _ in range(2):
        *_, infos = env.step(np.zeros(3, int))
    assert infos["agent_mask"].tolist() == [False, True, True]


def test_stable_baselines3_s_rows() -> None:
    sb3 = pytest.importorskip("warpworld.adapters.sb3", reason="no Stable-Baselines3 here")
    env = sb3.Sb3VecEnv(leaving())
    env.reset()
    assert [info["group"] for info in env.reset_infos] == env.get_attr("group") == ["wolf", "sheep", "sheep"] * 2
    assert all(info["agent_mask"] for info in env.reset_infos)
    for step in range(LENGTH - 1):
        _, _, dones, infos = env.step(np.zeros(6, int))
        assert dones.tolist() == [step == agent for agent in range(3)] * 2
        assert infos[step]["terminal_observation"].tolist() == [11.0 * step + 1]
        assert infos[step]["TimeLimit.truncated"] is False and infos[step]["agent_mask"]
    _, _, dones, infos = env.step(np.zeros(6, int))
    assert dones.all() and all(info["TimeLimit.truncated"] and not info["agent_mask"] for info in infos)


def test_a_row_is_cut_with_its_agent() -> None:
    envs = VectorEnv(leaving(cuts=True))
    envs.reset()
    for step in range(LENGTH - 1):
        _, _, terminated, truncated, infos = envs.step(np.zeros(6, int))
        expected = [step == agent for agent in range(3)] * 2
        assert not terminated.any() and truncated.tolist() == infos["_final_obs"].tolist() == expected
        assert infos["agent_truncated"].tolist() == expected and "agent_terminated" not in infos


def test_a_cut_row_of_stable_baselines3() -> None:
    sb3 = pytest.importorskip("warpworld.adapters.sb3", reason="no Stable-Baselines3 here")
    env = sb3.Sb3VecEnv(leaving(cuts=True))
    env.reset()
    _, _, dones, infos = env.step(np.zeros(6, int))
    assert dones.tolist() == [True, False, False] * 2 and infos[0]["TimeLimit.truncated"] is True
    assert infos[0]["terminal_observation"].tolist() == [1.0] and "terminal_observation" not in infos[1]


@pytest.mark.parametrize("cuts", [False, True])
def test_pettingzoo_s_agents_leave_in_both_ways(cuts: bool) -> None:
    parallel = pytest.importorskip("warpworld.adapters.parallel", reason="no PettingZoo here")
    env = parallel.ParallelEnv(leaving(1, cuts=cuts, autoreset="disabled"))
    env.reset()
    _, _, terminated, truncated, _ = env.step(dict.fromkeys(env.agents, 0))
    marked, other = (truncated, terminated) if cuts else (terminated, truncated)
    assert marked == {"wolf_0": True, "sheep_0": False, "sheep_1": False} and not any(other.values())
    assert env.agents == ["sheep_0", "sheep_1"]
    _, _, terminated, truncated, _ = env.step(dict.fromkeys(env.agents, 0))
    assert (truncated if cuts else terminated) == {"sheep_0": True, "sheep_1": False}


@pytest.mark.parametrize("cuts", [False, True])
def test_dm_env_and_pools(cuts: bool) -> None:
    dm = pytest.importorskip("warpworld.adapters.dm", reason="no dm_env here")
    env, pool = (kind(leaving(cuts=cuts, autoreset="next_step")) for kind in (dm.DmEnv, Pool))
    assert env.agent_mask is None
    for step in range(LENGTH + 2):
        _ = env.step(np.zeros((2, 3), int))
        *_, infos = pool.reset() if step == 0 else pool.step(np.zeros((2, 3), int))
        expected = [step % (LENGTH + 1) <= agent + 1 for agent in range(3)]
        assert env.agent_mask is not None and env.agent_mask[1].tolist() == infos["agent_mask"][0].tolist() == expected
        ends = [step % (LENGTH + 1) == agent + 1 for agent in range(3)]
        found = env.agent_truncated if cuts else env.agent_terminated
        name = "agent_truncated" if cuts else "agent_terminated"
        assert found is not None and found[1].tolist() == infos[name][0].tolist() == ends
    assert (env.agent_terminated if cuts else env.agent_truncated) is None


@pytest.mark.parametrize("api", ["rows", "sb3"])
def test_rows_of_groups_that_alternate(api: str) -> None:
    """What an agent sees, earns and whether it takes part stand in one row, whatever the order of agents."""
    seen, moves = Box(-np.inf, np.inf, (1,)), Discrete(2)
    groups = [Group("outer", 2, seen, moves, agents=range(0, 3, 2)), Group("inner", 1, seen, moves, agents=range(1, 2))]
    world = leaving(2, groups)
    if api == "sb3":
        env: Any = pytest.importorskip("warpworld.adapters.sb3").Sb3VecEnv(world)
    else:
        env = VectorEnv(world, agents="rows")
    assert env.row_groups == ("outer", "outer", "inner") * 2
    env.reset()
    for _ in range(2):
        found = env.step(np.zeros(6, int))
    assert found[0].ravel().tolist() == found[1].tolist() == [2.0, 22.0, 12.0] * 2
    assert found[2].tolist() == [False, False, True] * 2
    if api == "sb3":
        assert [bool(each) for each in env.get_attr("agent_mask")] == [False, True, True] * 2


def test_a_world_of_the_package() -> None:
    params = {**PARAMS["tag_continuous"], "tagging_distance": 0.4}  # many are tagged, at any actions
    envs = warpworld.make("tag_continuous", 8, api="gymnasium", seed=3, device="cpu", **params)
    _, infos = envs.reset()
    assert infos["group"].tolist() == ["tagger", "tagger", "runner", "runner", "runner"] * 8
    envs.action_space.seed(1)
    ended, left = np.zeros(40, np.bool_), 0
    for _ in range(9):
        _, _, terminated, _, infos = envs.step(envs.action_space.sample())
        assert not (terminated & infos["agent_terminated"] & ended).any()
        assert not infos["agent_mask"][ended].any()
        ended |= infos["agent_terminated"]
        left += int(infos["agent_terminated"].sum())
    assert left == ended.sum() > 0
