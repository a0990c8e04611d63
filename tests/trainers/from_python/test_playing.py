"""``warpworld.play``: whole episodes with policies, scripts, functions and random players."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import warpworld
from tests.policies.test_acting import LSTM, made
from tests.trainers.measured import AGENTS, Measured, MeasuredEpisodes, expected
from warpworld import World
from warpworld.config import config_from_dict
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError, StoreError
from warpworld.trainers import play as playing

SMALL: dict[str, Any] = {"num_taggers": 2, "grid_length": 4, "episode_length": 12}
TRAINER = {"num_envs": 6, "num_steps": 4, "total_env_steps": 24}


def tag(num_envs: int = 6) -> World:
    return World(get_environment("tag_gridworld")(**SMALL), num_envs, seed=5)


# ---- players ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "memory", [pytest.param({}, id="without memory"), pytest.param(LSTM, id="with memory", marks=pytest.mark.long)]
)
def test_policies_and_random_players_act_as_in_an_evaluation(memory: dict[str, Any]) -> None:
    _, policy = made("tag_gridworld", "tagger", memory, **SMALL)
    entry = {"groups": ["tagger"], "model": {"hidden_sizes": [8], **memory}, "num_minibatches": 1}
    policies = {"own": entry, "others": {"algorithm": "random", "groups": ["runner"]}}
    config = config_from_dict({"name": "tag_gridworld", "env": SMALL, "trainer": TRAINER, "policy": policies})
    theirs = playing.play(config, {"own": policy, "others": None}, 6, seed=5)
    found = warpworld.play(tag(), {"tagger": policy, "runner": None}, 6)
    assert np.allclose(found.returns["tagger"].mean(1), theirs.returns["own"])
    assert np.allclose(found.returns["runner"].mean(1), theirs.returns["others"])
    assert found.lengths.tolist() == theirs.lengths.tolist()


def test_scripts_act() -> None:
    hunted = warpworld.play(tag(), {"tagger": "greedy", "runner": None}, 60).mean_returns
    wandering = warpworld.play(tag(), {"tagger": None, "runner": None}, 60).mean_returns
    assert hunted["tagger"] > wandering["tagger"]


def test_functions_act() -> None:
    """A pole that is pushed towards where it falls; what happens is what happens when the same is done by hand."""
    seen: list[np.ndarray] = []

    def push(observations: np.ndarray) -> np.ndarray:
        seen.append(observations)
        return (observations[..., 2] + observations[..., 3] > 0).astype(np.int64)

    world = warpworld.make("cartpole", 3, seed=2, episode_length=80)
    found = warpworld.play(world, {"agent": push}, 3)
    assert seen[0].shape == (3, 1, 4) and seen[0].dtype == np.float32
    world.reset()
    returns = np.zeros((3, 1))
    running = np.ones(3, bool)
    for _ in range(80):
        world["actions"] = torch.from_numpy(push(world["observations"].cpu().numpy())[..., None].astype(np.int32))
        world.step()
        returns[running] += world["rewards"].cpu().numpy()[running]
        running &= ~(world["terminated"] | world["truncated"]).cpu().numpy()
    assert np.array_equal(found.returns["agent"], returns) and found.lengths.tolist() == returns[:, 0].tolist()
    assert found.mean_returns == {"agent": pytest.approx(returns.mean())}


@pytest.mark.long
def test_functions_that_ask_for_it_see_what_is_legal() -> None:
    def first_legal(observations: Any, action_mask: np.ndarray) -> np.ndarray:
        assert action_mask.dtype == bool
        return action_mask.argmax(-1)

    world = warpworld.make("connect_four", 2, seed=2, check_actions=True)
    found = warpworld.play(world, dict.fromkeys(world.groups, first_legal), 4)
    assert found.lengths.tolist() == [found.lengths[0]] * 4 and found.lengths[0] >= 7  # nothing is drawn


# ---- what is played --------------------------------------------------------------------------------------------------
def test_metrics_and_rounds() -> None:
    found = warpworld.play(World(Measured(), 5, "cpu", seed=4), dict.fromkeys(AGENTS), 13)  # three of each env
    finished = MeasuredEpisodes(5, seed=4).steps(60)
    of_envs = [[each for each in finished if each[0]["env"] == env][:3] for env in range(5)]
    assert found.metrics == pytest.approx(expected([each for env in of_envs for each in env]), rel=1e-12)
    assert found.lengths.tolist() == [len(each) for env in of_envs for each in env]
    assert {name: values.shape for name, values in found.returns.items()} == {"left": (15, 2), "right": (15, 1)}


def test_the_world_stays_as_it_is() -> None:
    world = tag()
    world.reset()
    before = world.snapshot()
    first, again = (warpworld.play(world, {"tagger": None, "runner": None}, 6) for _ in range(2))
    other = warpworld.play(world, {"tagger": None, "runner": None}, 6, seed=9)
    assert torch.equal(world.snapshot(), before)
    assert np.array_equal(first.returns["tagger"], again.returns["tagger"])
    assert not np.array_equal(first.returns["tagger"], other.returns["tagger"])


def test_steps_stop_it() -> None:
    found = warpworld.play(tag(), {"tagger": None, "runner": None}, 6, steps=3)
    assert found.unfinished > 0 and found.lengths.max() == 3


# ---- what is wrong ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("policies", "message"),
    [
        (None, "policies: NoneType, expected a player for each group by its name"),
        ({"tagger": None}, "policies: none for group 'runner'; None takes actions at random"),
        (
            {"tagger": None, "runer": None},
            "policies: no group 'runer'. Did you mean 'runner'? Groups: tagger, runner",
        ),
        (
            {"tagger": "gredy", "runner": None},
            "policies: no script 'gredy' for group 'tagger'. Did you mean 'greedy'? Scripts of tag_gridworld: greedy",
        ),
        (
            {"tagger": 3, "runner": None},
            "policies: int for group 'tagger', expected a Policy, a function, the name of a script or None",
        ),
        (
            {"tagger": lambda seen: np.zeros(2, int), "runner": None},
            "policies: the function for group 'tagger' gives actions of shape (2,), expected (6, 2)",
        ),
        (
            {"tagger": lambda seen: np.full((6, 2), 5), "runner": None},
            "policies: the function for group 'tagger' gives an action that is not in Discrete(5)",
        ),
        (
            {"tagger": lambda seen: np.zeros((6, 2)), "runner": None},
            "policies: the function for group 'tagger' gives an action that is not in Discrete(5)",
        ),
    ],
)
def test_players_that_there_are_none_of(policies: Any, message: str) -> None:
    with pytest.raises(StoreError) as caught:
        warpworld.play(tag(), policies)
    assert str(caught.value) == message


def test_wrong_arguments() -> None:
    with pytest.raises(DeclarationError, match=r"^play\(\) takes a World, not 'cartpole'$"):
        warpworld.play("cartpole", {})  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match="episodes=0: expected a whole number of at least 1"):
        warpworld.play(tag(), {}, 0)
