"""Steps with random actions: the episodes that end in them, counted apart for each env and group."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.toys import agents, environment
from warpworld import Array, World
from warpworld.checking.tracing import Trace
from warpworld.cli.run.stepping import step_at_random
from warpworld.world.random_actions import RandomActions

LENGTHS = (2, 3, 5)  # env i's episodes last LENGTHS[i] steps; those of env 1 are truncated, the others terminate
ARRAYS = [Array("taken", "int32", initial=0, on_reset="keep")]


def pay(arrays: Any, active: Any) -> None:
    """A fox earns 1 a step, the other fox 2, and the hen what the timestep is."""
    time = arrays["timestep"]
    arrays["rewards"] = torch.stack([torch.ones_like(time), 2 * torch.ones_like(time), time], dim=1).float()
    arrays["taken"] = arrays["taken"] * 10 + arrays["actions"][..., 0] + 1
    ended = time == torch.tensor(LENGTHS)
    cut = torch.tensor([False, True, False])
    arrays["terminated"], arrays["truncated"] = ended & ~cut, ended & cut


@pytest.fixture
def world() -> World:
    groups = [agents(2, "fox"), agents(1, "hen")]
    return World(environment(None, ARRAYS, groups, phases=[pay], resets=()), 3, seed=5)


def test_episodes_are_counted_by_how_they_end(world: World) -> None:
    episodes = step_at_random(world, 6, seed=1)
    assert (episodes.terminated, episodes.truncated) == (3 + 1, 2)
    assert episodes.lengths == [2, 3, 2, 5, 2, 3]  # in the order of their ends, and of envs in one step


def test_returns_are_sums_over_an_episode_and_means_over_a_group(world: World) -> None:
    episodes = step_at_random(world, 6, seed=1)
    assert episodes.returns["fox"] == [1.5 * length for length in episodes.lengths]
    assert episodes.returns["hen"] == [length * (length + 1) / 2 for length in episodes.lengths]


def test_without_an_end_there_is_no_episode(world: World) -> None:
    episodes = step_at_random(world, 1, seed=1)
    assert (episodes.terminated, episodes.truncated, episodes.lengths) == (0, 0, [])
    assert episodes.returns == {"fox": [], "hen": []}


def test_the_actions_are_those_of_the_seed(world: World) -> None:
    step_at_random(world, 6, seed=9)
    again = World(world.environment, 3, seed=5)
    actions, expected = RandomActions(again, 9), np.zeros((3, 3), np.int32)
    again.reset()
    for _ in range(6):
        actions.draw()
        actions.put(again, slice(0, 3))
        expected = expected * 10 + again.data.numpy("actions")[..., 0] + 1
    np.testing.assert_array_equal(world.data.numpy("taken"), expected)
    assert len({*map(tuple, expected.tolist())}) > 1


def test_a_trace_has_the_first_reset_and_every_step(world: World, tmp_path: Path) -> None:
    with Trace(world, 0, tmp_path / "trace.csv", ["rewards"]) as trace:
        step_at_random(world, 3, seed=1, trace=trace)
    with open(trace.path, newline="") as file:
        story = [(row["step"], row["event"]) for row in csv.DictReader(file) if row["agent"] == "0"]
    assert story == [("0", "reset"), ("1", "step"), ("2", "step"), ("2", "reset"), ("3", "step")]


def test_an_episode_that_ends_in_both_ways_is_terminated() -> None:
    def both(arrays: Any, active: Any) -> None:
        arrays["rewards"] = torch.zeros(2, 2)
        arrays["terminated"] = torch.tensor([True, False])
        arrays["truncated"] = torch.tensor([True, True])

    world = World(environment(None, groups=[agents(2)], phases=[both], resets=()), 2)
    episodes = step_at_random(world, 3, seed=0)
    assert (episodes.terminated, episodes.truncated, len(episodes.lengths)) == (3, 3, 6)
