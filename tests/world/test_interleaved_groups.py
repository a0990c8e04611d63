"""Groups whose agents do not lie side by side: cats have the even numbers, mice the odd ones."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from tests.world.herd import NAMES, SIZE, Herd
from warpworld import Environment, Group, World
from warpworld.checking import check
from warpworld.checking.tracing import Trace
from warpworld.environment import placed_groups
from warpworld.errors import DeclarationError
from warpworld.report.recorded_arrays import columns_of


def test_a_group_says_which_agents_it_has() -> None:
    groups = placed_groups(Herd())
    assert [list(group.numbers) for group in groups.values()] == [[0, 2, 4], [1, 3, 5]]
    assert [range(6)[group.slice] for group in groups.values()] == [range(0, 5, 2), range(1, 6, 2)]
    assert [group.stride for group in groups.values()] == [2, 2]
    assert [list(group.numbers) for group in placed_groups(Herd(in_turn=False)).values()] == [[0, 1, 2], [3, 4, 5]]


def test_the_trajectory_does_not_depend_on_where_agents_stand() -> None:
    worlds = [World(Herd(in_turn=in_turn), 5, seed=1) for in_turn in (True, False)]
    generator = torch.Generator().manual_seed(0)
    for world in worlds:
        world.reset()
    for _ in range(13):
        for name in NAMES:
            actions = torch.randint(0, 4, (5, SIZE, 1), generator=generator, dtype=torch.int32)
            for world in worlds:
                world[f"actions_{name}"].copy_(actions)
        for world in worlds:
            world.step()
        for name in NAMES:
            ours, theirs = ({**_of_group(world, name)} for world in worlds)
            assert ours.keys() == theirs.keys() and all(torch.equal(ours[key], theirs[key]) for key in ours)


def _of_group(world: World, name: str) -> dict[str, torch.Tensor]:
    agents = world.groups[name].slice
    per_agent = {key: world[key][:, agents] for key in ("x", "rewards", "action_mask")}
    return {**per_agent, "observations": world[f"observations_{name}"], "seen": world.observations(name)}


@pytest.mark.cpu_backend
def test_agents_of_a_parallel_env_have_their_own_rewards() -> None:
    parallel = pytest.importorskip("warpworld.adapters.parallel", reason="no PettingZoo here")
    env = parallel.ParallelEnv(World(Herd(), 1, device="cpu", autoreset="disabled"))
    observations, infos = env.reset(seed=1)
    assert sorted(observations) == sorted(f"{name}_{k}" for name in NAMES for k in range(SIZE))
    own = {f"cat_{k}": k for k in range(SIZE)} | {f"mouse_{k}": k + 1 for k in range(SIZE)}
    observations, rewards, *_, infos = env.step({**own, "mouse_1": 0})
    assert rewards == {**dict.fromkeys(own, 1.0), "mouse_1": 0.0}
    for name, seen in observations.items():
        assert int(seen[:3].argmax()) == int(name[-1])
    assert [bool(allowed) for allowed in infos["mouse_1"]["action_mask"]] == [True, True, True, False]


@pytest.mark.cpu_backend
def test_a_trace_has_a_row_for_each_agent_in_the_order_of_numbers(tmp_path: Path) -> None:
    world = World(Herd(), 2, seed=1, device="cpu")
    with Trace(world, 0, tmp_path / "trace.csv", ["x", "observations_mouse"]) as trace:
        world.reset()
        trace.reset()
        world["actions_mouse"][0, :, 0] = torch.tensor([0, 1, 2], dtype=torch.int32)
        world.step()
        trace.step()
    rows = list(csv.DictReader((tmp_path / "trace.csv").open()))[-6:]
    assert [(row["agent"], row["group"]) for row in rows] == [(str(k), NAMES[k % 2]) for k in range(6)]
    assert [row["x"] for row in rows] == ["1", "3", "3", "6", "5", "9"]
    seen = [float(row["observations_mouse[3]"] or "nan") for row in rows]
    assert seen == pytest.approx([float("nan"), 0.3, float("nan"), 0.6, float("nan"), 0.2], nan_ok=True)


@pytest.mark.cpu_backend
def test_recorded_columns_know_whose_they_are() -> None:
    world = World(Herd(), 1, seed=1, device="cpu")
    world.reset()
    frame = {name: world.data.numpy(name)[0].copy() for name in ("x", "observations_mouse", "actions_cat")}
    columns = columns_of(world, [{**frame, "timestep": np.int32(0)}], [np.full((6, 1), np.nan, np.float32)])
    assert list(columns["observations_mouse"].numbers) == [1, 3, 5]
    assert list(columns["actions_cat"].numbers) == [0, 2, 4] and list(columns["x"].numbers) == list(range(6))


@pytest.mark.cpu_backend
def test_check_follows_them() -> None:
    assert not check(Herd()).findings


# ---- bad input -------------------------------------------------------------------------------------------------------
def declared(*agents: Any, sizes: Sequence[int] = (2, 2)) -> Environment:
    class Declared(Environment):
        source = "herd.cu"

        def groups(self) -> Sequence[Group]:
            return [
                Group(name, size, Box(0.0, 1.0, (1,)), Discrete(2), agents=numbers)
                for name, size, numbers in zip(NAMES, sizes, agents, strict=True)
            ]

    return Declared()


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        (([0, 2], None), r"group 'cat': agents=\[0, 2\], expected a range of agents' numbers in ascending order"),
        (
            (range(3, 0, -2), None),
            r"group 'cat': agents=range\(3, 0, -2\), expected a range .* such as range\(0, 8, 2\)",
        ),
        ((range(-1, 3, 2), None), r"group 'cat': agents=range\(-1, 3, 2\), expected a range"),
        ((range(0, 6, 2), range(1, 4, 2)), r"agents=range\(0, 6, 2\) are 3 agents, expected as many as its size, 2"),
        ((range(0, 4, 2), range(2, 4)), r"agent 2 is in groups 'cat' and 'mouse', expected it in one"),
        ((range(0, 4, 2), None), r"agent 2 is in groups 'cat' and 'mouse'"),
        ((range(0, 4, 2), range(3, 5)), r"agent 1 of 4 is in no group, but agent 4 is in 'mouse'; let .* be 0 to 3"),
    ],
)
def test_numbers_that_do_not_share_out_the_agents(agents: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        placed_groups(declared(*agents))
