"""Actions in a library's own Box: whole numbers and floats of any dtype, the same from every source."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box

import warpworld
from tests.adapters.external.boxes import RECEIVED, box_of
from tests.cases import often
from warpworld import World
from warpworld.adapters.external.external import held_actions
from warpworld.checking.tracing import Trace
from warpworld.config import config_from_dict
from warpworld.environment import get_environment
from warpworld.environment.library_actions import library_actions, stored_action
from warpworld.errors import StoreError
from warpworld.policies import Policy
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

WHOLE = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float64")


MEANS = (-1.5, -1.0, 0.25, 0.75, 1.0, 1.5)  # of the first number; the second has the opposite


def trainer_of(dtype: str) -> Trainer:
    return Trainer(
        config_from_dict(
            {
                "name": "external",
                "env": {"library": "tests.adapters.external.boxes:boxes", "options": {"dtype": dtype}},
                "trainer": {"num_envs": 2, "num_steps": 4, "total_env_steps": 8, "device": "cpu"},
                "policy": {"agent": {"model": {"hidden_sizes": [4]}, "num_minibatches": 1}},
            }
        )
    )


def decide(policy: Policy, mean: float) -> Policy:
    """Let a policy choose one action, whatever it sees, with noise that no float32 shows."""
    with torch.no_grad():
        for weight in policy.model.actor_layers.parameters():
            weight.zero_()
        last = list(policy.model.actor_layers.parameters())[-1]
        last.copy_(torch.tensor([mean, -mean]))
        policy.distribution.log_std.fill_(-20.0)
    return policy


def chosen(policy: Policy) -> np.ndarray:
    return policy.act(np.zeros((1,), np.float32), greedy=True)


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())


# ---- one value from every source -------------------------------------------------------------------------------------
@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("dtype", often(["bool", "uint8", "int64", "float64"], [*WHOLE, *FLOATS]))
def test_the_trainer_hands_out_what_act_returns(dtype: str) -> None:
    space = box_of(dtype)
    for mean in MEANS:
        trainer = trainer_of(dtype)
        (policy,) = trainer.policies.values()
        expected = chosen(decide(policy, mean))
        RECEIVED.clear()
        trainer.train(None)
        assert len(RECEIVED) == 8 and space.contains(expected)
        assert all(same(action, expected) for action in RECEIVED)


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("dtype", often(["uint64", "float16"], ["uint16", "uint64", "bool", "float16", "float64"]))
def test_onnx_chooses_what_act_does(dtype: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    (policy,) = trainer_of(dtype).policies.values()
    for mean in (-1.5, 0.75):
        warpworld.export_policy(decide(policy, mean), tmp_path / "own.onnx")
        session = onnxruntime.InferenceSession(tmp_path / "own.onnx")
        (action,) = session.run(["action"], {"observations": np.zeros((1, 1), np.float32)})
        assert same(action[0], chosen(policy))


@pytest.mark.parametrize("dtype", [*WHOLE, *FLOATS])
def test_a_trace_shows_what_the_library_gets(dtype: str, tmp_path: Path) -> None:
    environment = get_environment("external")(library="tests.adapters.external.boxes:boxes", options={"dtype": dtype})
    world = World(environment, 1, "cpu")
    with Trace(world, 0, tmp_path / "own.npz") as trace:
        world.reset()
        trace.reset()
        for value in (0.3, 0.6, 1.5, 2.5, 9.0, -9.0):
            RECEIVED.clear()
            world["actions"] = value
            world.step()
            trace.step()
            stored = world.data.numpy("actions").reshape(1, 2)
            assert same(RECEIVED[0], library_actions(box_of(dtype), stored)) and box_of(dtype).contains(RECEIVED[0])
            assert (stored == RECEIVED[0].astype(np.float32)).all()
    shown = np.load(tmp_path / "own.npz")["actions"]
    assert (shown[-1].reshape(1, 2) == RECEIVED[0].astype(np.float32)).all()


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["uint16", "bool", "float64"])
def test_rollouts_from_python_return_what_the_library_gets(dtype: str) -> None:
    trainer = trainer_of(dtype)
    (policy,) = trainer.policies.values()
    environment = get_environment("external")(library="tests.adapters.external.boxes:boxes", options={"dtype": dtype})
    RECEIVED.clear()
    steps = warpworld.rollout(World(environment, 1, "cpu"), decide(policy, 0.75), steps=2)
    assert same(steps["actions"]["agent"][-1, 0, 0], RECEIVED[-1]) and same(RECEIVED[-1], chosen(policy))


@pytest.mark.parametrize("dtype", ["int8", "bool", "float64"])
def test_adapters_take_and_show_the_librarys_space(dtype: str) -> None:
    options = {"library": "tests.adapters.external.boxes:boxes", "options": {"dtype": dtype}}
    envs = warpworld.make("external", 2, api="gymnasium", autoreset="same_step", **options)
    assert envs.single_action_space == box_of(dtype)
    envs.reset()
    RECEIVED.clear()
    actions = envs.action_space.sample()
    envs.step(actions)
    expected = actions.astype(np.float32).astype(actions.dtype)
    assert all(same(got, given) for got, given in zip(RECEIVED, expected, strict=True))


# ---- bounds ----------------------------------------------------------------------------------------------------------
def test_each_whole_number_has_an_equal_share() -> None:
    space = Box(2, 5, (1,), np.int16)
    stored = stored_action(space)
    assert isinstance(stored, Box)
    drawn = np.linspace(stored.low, stored.high, 4001, dtype=np.float32)
    counts = np.unique(library_actions(space, drawn), return_counts=True)
    assert counts[0].tolist() == [2, 3, 4, 5] and max(counts[1]) - min(counts[1]) <= 2


def test_no_stored_bound_lies_beyond_the_librarys() -> None:
    generator = np.random.default_rng(0)
    low = generator.normal(size=1000)
    space = Box(low, low + generator.exponential(size=1000), dtype=np.float64)
    stored = stored_action(space)
    assert isinstance(stored, Box) and stored.dtype == np.float32
    assert (stored.low.astype(np.float64) >= space.low).all() and (stored.high.astype(np.float64) <= space.high).all()
    assert (np.nextafter(stored.low, np.float32(-9)).astype(np.float64) < space.low).all()


def test_bounds_that_float32_does_not_hold() -> None:
    space = Box(np.array([-1e300, -np.inf, 0.1]), np.array([1e300, 0.1, 0.1]), dtype=np.float64)
    stored = stored_action(space)
    assert isinstance(stored, Box)
    assert stored.low[0] == -np.inf and stored.high[0] == np.inf and stored.low[1] == -np.inf
    assert space.contains(library_actions(space, stored.high[None].clip(-1, 1))[0])


# ---- whole numbers that float32 does not hold ------------------------------------------------------------------------
def test_a_bound_that_float32_does_not_hold_stays_what_it_is() -> None:
    space = Box(0, 2**24 + 1, (1,), np.int64)
    stored = np.float32(2**24 + 2).reshape(1, 1, 1)
    assert library_actions(space, stored[0]) == 2**24 + 1
    assert library_actions(space, held_actions(space, stored)[0]) == 2**24 + 1


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_adapters_refuse_what_would_be_rounded(dtype: str) -> None:
    options = {"library": "tests.adapters.external.boxes:boxes", "options": {"dtype": dtype}}
    envs = warpworld.make("external", 2, api="gymnasium", autoreset="same_step", **options)
    envs.reset()
    space = envs.single_action_space
    for first in (space.high[0, 0], space.low[0, 0], 2**24, 2**24 + 2):
        RECEIVED.clear()
        actions = np.array([[[first, 1]], [[3, 2]]], dtype)
        envs.step(actions)
        assert all(same(got, given) for got, given in zip(RECEIVED, actions, strict=True))
    with pytest.raises(StoreError) as caught:
        envs.step(np.array([[[2**24, 1]], [[2**24 + 1, 2]]], dtype))
    assert str(caught.value).startswith(
        "actions: env 1 has 16777217, expected a whole number that float32 holds, as the store does; 16777216 is the "
        "nearest. Wrap the env in gymnasium.wrappers.TransformAction(env, "
    )
