"""The arrays of a recording: what every agent saw, did and was worth at each frame, and how a page holds them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor

from tests.report.recorded_worlds import SPACE, Drawn, Masked, Plain, config_of, recording_of, run_of
from warpworld.config import config_from_dict
from warpworld.environment import Group, get_environment
from warpworld.policies import Policy
from warpworld.policies.recurrent import RecurrentPolicy
from warpworld.policies.stacking import StackingPolicy
from warpworld.report.column_encoding import encode_columns
from warpworld.report.recorded_arrays import Column
from warpworld.report.recording import Recording, record, record_run
from warpworld.trainers.algorithms.value_rescale import unscaled
from warpworld.trainers.building import build_policies
from warpworld.trainers.evaluate import load_policies

STEERED = "tests.trainers.algorithms.steered:Steered"
RANDOM = {"left": None, "right": None}
GROUPS = {"left": Group("left", 2, SPACE, Discrete(2)), "right": Group("right", 1, SPACE, Discrete(2), first=2)}
PLENTY = 1_000_000


class Apart(Plain):
    """Its groups see different things: the right agent sees two numbers, 7 and its place."""

    def groups(self) -> Sequence[Group]:
        return [*super().groups()[:1], Group("right", 1, Box(-np.inf, np.inf, (2,)), Discrete(2))]

    def _step(self, arrays: Any, active: Tensor) -> None:
        arrays["x"] = arrays["x"] + 1.0
        arrays["truncated"] = arrays["timestep"] == self.params.length
        self._see(arrays)

    def _reset(self, arrays: Any, active: Tensor) -> None:
        start = 10.0 * torch.arange(3)
        arrays["x"] = torch.where(active[:, None], start, arrays["x"])
        self._see(arrays)

    def _see(self, arrays: Any) -> None:
        arrays["observations_left"] = arrays["x"][:, :2, None]
        right = arrays["x"][:, 2:, None]
        arrays["observations_right"] = torch.cat([torch.full_like(right, 7.0), right], dim=2)


def decoded(entry: dict[str, Any]) -> np.ndarray:
    """The numbers of an encoded array, (frames, agents where it is of agents, *shape)."""
    values = np.frombuffer(base64.b64decode(entry["data"]), np.dtype(entry["dtype"]).newbyteorder("<"))
    agents = [] if entry["first"] is None else [-1]
    return values.reshape(entry["frames"], *agents, *entry["shape"])


# ---- what is recorded ------------------------------------------------------------------------------------------------
def test_arrays_of_agents_and_of_the_env_are_kept() -> None:
    columns = record(config_of(Drawn), RANDOM, episodes=2).columns
    x = np.array([0.0, 10.0, 20.0]) + np.arange(4)[:, None]
    assert columns["x"].values.tolist() == [*x.tolist(), *(x + 100.0).tolist()]
    assert columns["observations"].values[..., 0].tolist() == columns["x"].values.tolist()
    assert (columns["x"].first, columns["episodes"].first) == (0, None)
    assert columns["episodes"].values.tolist() == [0] * 4 + [1] * 4
    assert columns["actions"].values.shape == (8, 3, 1)
    assert not {"table", "timestep", "rewards", "value", "alive"} & columns.keys()


def test_arrays_of_one_group_know_their_agents() -> None:
    columns = record(config_of(Apart), RANDOM).columns
    assert {name: columns[name].first for name in ("observations_left", "observations_right", "actions")} == {
        "observations_left": 0,
        "observations_right": 2,
        "actions": 0,
    }
    assert columns["observations_right"].values.tolist() == [[[7.0, 20.0 + step]] for step in range(4)]


def test_values_are_what_critics_expect_of_what_agents_see(tmp_path: Path) -> None:
    run = run_of(Drawn, tmp_path)
    columns = record_run(run, episodes=2).columns
    seen = torch.as_tensor(columns["observations"].values)
    values, ended = columns["value"].values, np.arange(8) % 4 == 3
    assert np.isnan(values[ended]).all()
    for name, agents in (("left", slice(0, 2)), ("right", slice(2, 3))):
        policy = load_policies(run)[name]
        assert policy is not None
        with torch.no_grad():
            expected = policy.value(seen[~ended, agents])
        assert np.allclose(values[~ended, agents], expected.numpy(), rtol=1e-5)


def recorded_by(
    algorithm: str, env: str, params: Mapping[str, Any] | None = None, episodes: int = 1, **settings: Any
) -> tuple[Recording, Policy]:
    """Episodes of five steps that a fresh policy plays."""
    entry = {"algorithm": algorithm, **settings}
    trainer = {"num_envs": 2, "num_steps": 4, "total_env_steps": 80, "device": "cpu"}
    config = config_from_dict(
        {"name": env, "env": {"episode_length": 5, **(params or {})}, "trainer": trainer, "policy": {"agent": entry}}
    )
    environment = get_environment(env)(**config.env)
    policies = build_policies(config, environment, torch.Generator().manual_seed(1))
    policy = policies["agent"]
    assert policy is not None
    return record(config, policies, episodes), policy


@pytest.mark.parametrize("rescale", [False, True])
def test_values_of_q_networks_are_those_of_the_best_choice(rescale: bool) -> None:
    recording, policy = recorded_by("dqn", "cartpole", value_rescale=rescale)
    seen = torch.as_tensor(recording.columns["observations"].values[:-1, 0])
    with torch.no_grad():
        best = policy.outputs(seen).amax(-1)
    expected = unscaled(best) if rescale else best
    assert np.allclose(recording.columns["value"].values[:-1, 0], expected.numpy(), rtol=1e-5, atol=1e-6)
    assert len(best) == 5


def test_values_of_networks_with_a_memory_follow_it() -> None:
    recording, policy = recorded_by("r2d2", "cartpole", value_rescale=False, model={"recurrent": "gru"})
    assert isinstance(policy, RecurrentPolicy)
    seen = torch.as_tensor(recording.columns["observations"].values[:-1, 0])
    state, best = torch.zeros(1, policy.state_size), []
    with torch.no_grad():
        for row in seen:
            outputs, _, state = policy.step(row[None], state)
            best.append(float(outputs.amax()))
    assert np.allclose(recording.columns["value"].values[:-1, 0], best, rtol=1e-5, atol=1e-6)


def test_values_of_critics_of_actions_are_those_of_what_was_done() -> None:
    recording, policy = recorded_by("sac", "pendulum")
    seen = torch.as_tensor(recording.columns["observations"].values[:-1, 0])
    done = torch.as_tensor(recording.columns["actions"].values[1:, 0]) / 2.0  # torques lie between -2 and 2
    with torch.no_grad():
        expected = policy.value(seen, done)
    assert np.allclose(recording.columns["value"].values[:-1, 0], expected.numpy(), rtol=1e-4, atol=1e-5)
    assert expected.std() > 0


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["ddpg", "sac"])
def test_values_of_critics_of_actions_that_read_stacks(algorithm: str) -> None:
    settings = {"groups": ["car", "ship"], "frame_stack": 3, "model": {"hidden_sizes": [8]}}
    recording, policy = recorded_by(algorithm, STEERED, {"pictures": True}, episodes=2, **settings)
    assert isinstance(policy, StackingPolicy)
    seen = torch.as_tensor(recording.columns["observations"].values).flatten(2)
    done = (torch.as_tensor(recording.columns["actions"].values) - 1.0) / torch.tensor([2.0, 1.0])  # what the Box spans
    for first in (0, 6):  # of an episode's frames
        stacks = torch.cat([torch.zeros(2, *seen.shape[1:], dtype=seen.dtype), seen[first : first + 5]])
        rows = torch.cat([stacks[:-2], stacks[1:-1], stacks[2:]], -1)
        with torch.no_grad():
            expected = policy.value(rows, done[first + 1 : first + 6])
        assert np.allclose(recording.columns["value"].values[first : first + 5], expected.numpy(), atol=1e-5)
    assert expected.std() > 0


def test_who_is_alive() -> None:
    columns = record(config_of(Masked), {"agent": None}, episodes=2).columns
    assert columns["alive"].values.tolist() == [[True, True]] * 3 + [[True, False]] + [[True, True]] * 3 + [
        [True, False]
    ]


# ---- how a page holds it ---------------------------------------------------------------------------------------------
def test_encoded_numbers_are_the_recorded_ones() -> None:
    rng = np.random.default_rng(0)
    columns = {
        "flags": Column(rng.random((5, 3)) < 0.5, 0),
        "counts": Column(rng.integers(-300, 300, (5, 3, 2)), 0),
        "large": Column(np.array([[2**40], [1]]), None),
        "places": Column(rng.random((5, 3, 2), dtype=np.float32), 0),
        "of_right": Column(np.array([[[1.5, np.nan]]] * 2, np.float32), 2),
    }
    encoded = encode_columns(columns, GROUPS, PLENTY)
    assert [entry["name"] for entry in encoded["arrays"]] == list(columns)
    assert [entry["dtype"] for entry in encoded["arrays"]] == ["uint8", "int16", "float64", "float32", "float32"]
    for entry in encoded["arrays"]:
        assert np.array_equal(decoded(entry), columns[entry["name"]].values, equal_nan=entry["name"] == "of_right")
    assert encoded["left_out"] == []


def test_an_array_that_never_changes_is_there_once() -> None:
    (entry,) = encode_columns({"x": Column(np.ones((9, 3), np.float32), 0)}, GROUPS, PLENTY)["arrays"]
    assert (entry["frames"], decoded(entry).tolist()) == (1, [[1.0, 1.0, 1.0]])


@pytest.mark.parametrize(
    ("room", "agents", "left_out"),
    [(3 * 16 * 4, None, []), (170, [0, 2], ["seen"]), (80, [], ["seen"])],
)
def test_what_does_not_fit_is_kept_of_the_first_agents_of_each_group(
    room: int, agents: list[int] | None, left_out: list[str]
) -> None:
    values = np.arange(36, dtype=np.float32).reshape(4, 3, 3)
    encoded = encode_columns({"seen": Column(values, 0)}, GROUPS, room)
    assert encoded["left_out"] == left_out
    if agents == []:
        assert encoded["arrays"] == []
    else:
        (entry,) = encoded["arrays"]
        assert entry["agents"] == agents
        assert decoded(entry).tolist() == values[:, agents or [0, 1, 2]].tolist()


def test_a_small_array_has_room_before_a_large_one() -> None:
    large, small = Column(np.random.default_rng(1).random((50, 3)), 0), Column(np.arange(50) % 7, None)
    encoded = encode_columns({"large": large, "small": small}, GROUPS, 100)
    assert [entry["name"] for entry in encoded["arrays"]] == ["small"]


def test_a_recording_without_arrays() -> None:
    recording: Recording = recording_of([])
    assert encode_columns(recording.columns, recording.groups, PLENTY) == {"arrays": [], "left_out": []}
