"""Epsilon-greedy actions: what is forbidden is not taken, and random ones come as often as epsilon says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.trainers.replay.filled import Filled
from tests.trainers.replay.varied import Varied
from tests.trainers.small_worlds import same_logits
from warpworld.environment import Array
from warpworld.errors import DeclarationError
from warpworld.trainers.algorithms.exploration import epsilons
from warpworld.world import World

VALUES = (0.5, 0.1, 2.0, -1.0, 0.3)


def played(values: tuple[float, ...], exploration: Any, num_envs: int = 200, **params: Any) -> Filled:
    """A few hundred steps by these values."""
    players: dict[str, Any] = {group: same_logits(values) for group in ("left", "right")}
    filled = Filled(players=players, exploration=exploration, num_envs=num_envs, num_steps=4, **params)
    for _ in range(5):
        filled.collector.collect()
    return filled


def actions(filled: Filled) -> np.ndarray:
    return np.stack([moment.action for step in filled.witness.steps for moment in step.values()])


def fits(counts: np.ndarray, shares: np.ndarray) -> bool:
    """Whether counts are as likely as in 999 of 1000 draws, by chi^2."""
    expected, freedom = counts.sum() * shares, len(shares) - 1
    bound = freedom * (1 - 2 / (9 * freedom) + 3.09 * math.sqrt(2 / (9 * freedom))) ** 3  # Wilson and Hilferty
    return bool(((counts - expected) ** 2 / expected).sum() < bound)


@pytest.mark.long
def test_each_head_explores_by_itself() -> None:
    taken = actions(played(VALUES, 0.3, actions="several"))
    best, others = 0.7 + 0.3 / 3, 0.3 / 3
    first, second = np.array([others, others, best]), np.array([0.15, 0.85])
    counts = np.zeros((3, 2))
    np.add.at(counts, (taken[:, 0], taken[:, 1]), 1)
    assert fits(counts.ravel(), np.outer(first, second).ravel())


def test_without_exploring_the_best_is_taken() -> None:
    assert (actions(played(VALUES[:3], 0.0)) == 2).all()


def test_of_equal_values_any_is_taken() -> None:
    counts = np.bincount(actions(played((1.0, 1.0, 1.0), 0.0)).ravel(), minlength=3)
    assert fits(counts, np.full(3, 1 / 3))


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
@pytest.mark.long
def test_masks_are_obeyed(epsilon: float) -> None:
    filled, explored = played(VALUES[:3], epsilon, forbidding=0.4), 0
    for step in filled.witness.steps:
        for moment in step.values():
            assert moment.allowed is not None
            allowed = moment.allowed[:3] if moment.allowed[:3].any() else np.ones(3, bool)
            assert allowed[moment.action[0]]
            best = int(np.argmax(np.where(allowed, VALUES[:3], -np.inf)))
            explored += moment.action[0] != best
    assert (explored == 0) == (epsilon == 0)


def test_the_best_choice_is_noted_beside_the_one_that_is_taken() -> None:
    """In the last step of all; the group that acts at random notes nothing."""
    filled = played(VALUES[:3], 1.0, forbidding=0.4, greedy=True)
    noted, differ = filled.world.data.numpy("greedy_actions")[..., 0], 0
    for (env, agent), moment in filled.witness.steps[-1].items():
        assert moment.allowed is not None
        allowed = moment.allowed[:3] if moment.allowed[:3].any() else np.ones(3, bool)
        best = int(np.argmax(np.where(allowed, VALUES[:3], -np.inf)))
        assert noted[env, (0, 1, 3)[agent]] == best
        differ += moment.action[0] != best
    assert differ > 100, "of 600 choices, all of which are random"
    assert (noted[:, 2] == -1).all()


def test_the_best_choice_of_each_head_is_noted() -> None:
    filled = played(VALUES, 0.5, actions="several", greedy=True)
    assert (filled.world.data.numpy("greedy_actions")[:, [0, 1, 3]] == (2, 1)).all()


@pytest.mark.parametrize(
    ("actions", "array", "message"),
    [
        ("box", Array("greedy_actions", "int32"), r"but acts in Box.*, expected choices; leave greedy_actions out"),
        ("one", Array("greedy_action", "int32"), "which is not an array of it. Did you mean 'greedy_action'"),
        ("one", Array("greedy_actions", "float32"), r"an array of float32 per agent of shape \(\), expected int32"),
        ("one", Array("greedy_actions", "int32", per="env"), r"an array of int32 per env of shape \(\), expected"),
        (
            "several",
            Array("greedy_actions", "int32"),
            r"an array of int32 per agent of shape \(\), expected int32 per agent of shape \(2,\)",
        ),
    ],
)
def test_arrays_that_hold_no_greedy_action(actions: str, array: Array, message: str) -> None:
    class Holding(Varied):
        def arrays(self) -> list[Array]:
            return [array]

    with pytest.raises(DeclarationError, match=f"group 'left' has greedy_actions='greedy_actions', {message}"):
        World(Holding(greedy=True, actions=actions), 1)


def test_shares_of_each_env() -> None:
    expected = [0.4 ** (1 + 7 * i / 9) for i in range(10)]
    np.testing.assert_allclose(epsilons(10).numpy(), expected, rtol=1e-6)
    assert epsilons(1).tolist() == pytest.approx([0.4])
