"""Actions that count from elsewhere, of flags, or of several axes: in the store they are flat, and count from 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space
from torch import Tensor

from tests.trainers.small_worlds import space
from warpworld import Environment, Group, World
from warpworld.config import config_from_dict
from warpworld.errors import StoreError
from warpworld.trainers.trainer import Trainer
from warpworld.world.random_actions import RandomActions

LOW, HIGH = np.arange(4, dtype=np.float32), np.full(4, 9.0, np.float32)
SPACES: dict[str, Space] = {
    "choice": Discrete(3),
    "choice from 5": Discrete(3, start=5),
    "choices": MultiDiscrete([3, 2]),
    "choices from -1 and 4": MultiDiscrete([3, 2], start=[-1, 4]),
    "choices of two axes": MultiDiscrete([[3], [2]]),
    "pairs": MultiDiscrete([2, 2, 2, 2]),
    "flags": MultiBinary(4),
    "flags of two axes": MultiBinary((2, 2)),
    "box": Box(LOW, HIGH),
    "box of two axes": Box(LOW.reshape(2, 2), HIGH.reshape(2, 2)),
}


class Guess(Environment):
    """In PyTorch alone: one step an episode; the fewer the numbers of an action are beside 1, the better."""

    @dataclass(frozen=True)
    class Params:
        kind: str = "choice"

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group("guesser", 2, space(2), SPACES[self.params.kind])]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [lambda arrays, active: arrays["observations"].zero_()]

    def _step(self, arrays: Any, active: Tensor) -> None:
        arrays["rewards"] = -(arrays["actions"] - 1.0).abs().sum(-1)
        arrays["terminated"] = torch.ones_like(arrays["terminated"])


def trained(kind: str) -> Trainer:
    learner = {"model": {"hidden_sizes": [8]}, "update_epochs": 2, "num_minibatches": 2}
    settings = {"num_envs": 6, "num_steps": 8, "total_env_steps": 6 * 8 * 3, "graph_steps": 8}
    config = {"name": f"{__name__}:Guess", "env": {"kind": kind}, "trainer": settings, "policy": {"guesser": learner}}
    trainer = Trainer(config_from_dict(config))
    trainer.train(None)
    return trainer


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        ("choice from 5", "choice"),
        ("choices from -1 and 4", "choices"),
        ("choices of two axes", "choices"),
        ("flags", "pairs"),
        ("flags of two axes", "pairs"),
        ("box of two axes", "box"),
    ],
)
def test_learning_is_the_same_as_of_plain_actions(kind: str, plain: str) -> None:
    ours, theirs = trained(kind), trained(plain)
    for name in ("actions", "rollout_actions_guesser", "rollout_log_probs_guesser", "rollout_rewards"):
        assert torch.equal(ours.world[name], theirs.world[name])
    pairs = zip(ours.policies["guesser"].parameters(), theirs.policies["guesser"].parameters(), strict=True)
    assert all(torch.equal(mine, expected) for mine, expected in pairs)


@pytest.mark.parametrize("kind", SPACES)
def test_random_actions_are_legal(kind: str) -> None:
    world = World(Guess(kind=kind), 200, check_actions=True)
    world.reset()
    actions = RandomActions(world, seed=0)
    actions.draw()
    actions.put(world, slice(0, 200))
    world.step()
    found = world["actions"].flatten(0, 1).cpu().numpy()
    if SPACES[kind].dtype.kind == "i":
        assert (found.min(0) == 0).all()
    else:
        assert (found.min(0) < LOW + 0.5).all() and (found.max(0) > HIGH - 0.5).all()


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        (
            "choice from 5",
            5,
            "actions: env 1, agent 1 has 5, expected 0 to 2, counted from 0 where its space counts from 5",
        ),
        ("flags of two axes", 2, "actions: env 1, agent 1, part 2 has 2, expected 0 to 1"),
        (
            "choices from -1 and 4",
            2,
            "actions: env 1, agent 1, part 1 has 2, expected 0 to 1, counted from 0 where its space counts from 4",
        ),
        ("choices of two axes", -1, "actions: env 1, agent 1, part 1 has -1, expected 0 to 1"),
        ("box of two axes", 1.5, "actions: env 1, agent 1, part 2 has 1.5, expected 2 to 9"),
    ],
)
def test_illegal_actions_are_found_by_their_places_in_the_store(kind: str, wrong: float, message: str) -> None:
    world = World(Guess(kind=kind), 3, check_actions=True)
    world.reset()
    if kind.startswith("box"):
        world["actions"] = 9.0
    world["actions"][1, 1, min(2, world["actions"].shape[-1] - 1)] = wrong
    with pytest.raises(StoreError) as refused:
        world.step()
    assert str(refused.value) == message
