"""Worlds of some of the envs of another."""

from __future__ import annotations

import pytest

import warpworld
from tests.envs.trajectories import trajectory_of
from warpworld.errors import DeclarationError


def test_they_walk_the_trajectories_of_the_whole() -> None:
    whole = warpworld.make("cartpole", 9, seed=5, episode_length=20)
    part = whole.part(4, 3)
    assert (part.num_envs, part.first_env, part.constants.seed) == (3, 4, 5)
    for own, its in zip(trajectory_of(whole, 5, 60), trajectory_of(part, 1, 60, first_env=4), strict=True):
        assert {name: array.tobytes() for name, array in own.items()} == {
            name: array.tobytes() for name, array in its.items()
        }


@pytest.mark.parametrize(
    ("first", "num_envs", "message"),
    [
        (7, 3, "part(7, 3): this world has 9 envs"),
        (-1, 3, "first=-1: expected a whole number of at least 0"),
        (0, 0, "num_envs=0: expected a whole number of at least 1"),
    ],
)
def test_envs_that_it_has_not(first: int, num_envs: int, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        warpworld.make("cartpole", 9).part(first, num_envs)
    assert str(caught.value) == message
