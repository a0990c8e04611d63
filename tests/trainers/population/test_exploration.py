"""Rules of a population: who copies whom, and the settings that members get."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from warpworld.config import PopulationConfig
from warpworld.trainers.population import Exploration
from warpworld.trainers.population.draws import Draws
from warpworld.trainers.population.exploration import ranked

NAN = math.nan


def exploration(seed: int = 3, **keys: Any) -> Exploration:
    given = {"members": 8, "settings": {"learning_rate": (1e-4, 1e-2), "ent_coef": (0.0, 0.1)}, **keys}
    return Exploration(PopulationConfig(**given), seed)


def test_members_are_ranked_by_return_and_those_without_one_are_left_out() -> None:
    assert ranked([1.0, 3.0, NAN, 3.0, -2.0]) == [1, 3, 0, 4]


@pytest.mark.parametrize(
    "exploit, losers, winners",
    [(0.01, {0}, {7}), (0.125, {0}, {7}), (0.37, {0, 1}, {6, 7}), (0.5, {0, 1, 2, 3}, {4, 5, 6, 7})],
)
def test_the_worst_copy_the_best(exploit: float, losers: set[int], winners: set[int]) -> None:
    rules, met = exploration(exploit=exploit), set[int]()
    for ranking in range(1, 30):
        found = rules.sources([float(member) for member in range(8)], ranking)
        assert found.keys() == losers
        met |= set(found.values())
    assert met == winners


def test_a_member_without_episodes_neither_copies_nor_is_copied() -> None:
    found = exploration(exploit=0.5).sources([NAN, 5.0, NAN, 1.0, NAN, NAN, NAN, NAN], 1)
    assert found == {3: 1}
    assert exploration().sources([NAN] * 8, 1) == exploration().sources([NAN] * 7 + [1.0], 1) == {}


def test_shares_are_not_rounded_down_by_a_float() -> None:
    assert len(exploration(members=100, exploit=0.29).sources([float(member) for member in range(100)], 1)) == 29


def test_lost_members_copy_and_are_not_copied() -> None:
    lost = -math.inf
    assert exploration(exploit=0.25).sources([lost, 1.0, lost, 3.0, 2.0, 2.5, 1.5, 4.0], 2).keys() == {0, 2}
    assert exploration(exploit=0.5).sources([lost] * 7 + [4.0], 2).keys() <= {3, 4, 5, 6}


def test_a_member_copies_none_that_is_not_better() -> None:
    assert exploration(exploit=0.5).sources([2.0] * 8, 1) == {}


def test_draws_depend_on_seed_ranking_member_and_name_alone() -> None:
    rules = exploration(resample=0.5)
    copied = {"learning_rate": 1e-3, "ent_coef": 0.05}
    assert rules.changed(copied, 2, 5) == exploration(resample=0.5).changed(copied, 2, 5)
    others = [rules.changed(copied, 3, 5), rules.changed(copied, 2, 6), exploration(4).changed(copied, 2, 5)]
    assert rules.changed(copied, 2, 5) not in others
    numbers = {Draws(1, ranking).uniform(member, name) for ranking in (1, 2**40) for member in (0, 1) for name in "ab"}
    assert len(numbers) == 8


@pytest.mark.long
def test_first_values_fill_their_ranges() -> None:
    """A range above 0 in its logarithm, one from 0 on evenly."""
    values = [exploration(seed).first_values(member) for seed in range(60) for member in range(8)]
    rates, weights = (np.array([each[name] for each in values]) for name in ("learning_rate", "ent_coef"))
    assert rates.min() >= 1e-4
    assert rates.max() <= 1e-2
    assert abs((rates < 1e-3).mean() - 0.5) < 0.08
    assert abs((weights < 0.05).mean() - 0.5) < 0.08


@pytest.mark.long
def test_a_copied_setting_is_multiplied_within_its_range_or_drawn_anew() -> None:
    rules, copied = exploration(resample=0.0), {"learning_rate": 9e-3, "ent_coef": 0.05}
    found = [rules.changed(copied, 0, ranking) for ranking in range(40)]
    assert {round(each["learning_rate"], 9) for each in found} == {0.0072, 0.01}  # 9e-3 * 1.25 is above the range
    assert {round(each["ent_coef"], 9) for each in found} == {0.04, 0.0625}
    anew = [exploration(resample=1.0).changed(copied, 0, ranking)["ent_coef"] for ranking in range(40)]
    assert len(set(anew)) == 40
    mixed = [exploration(resample=0.25).changed(copied, 0, ranking)["ent_coef"] for ranking in range(300)]
    assert abs(np.isin(np.round(mixed, 9), [0.04, 0.0625]).mean() - 0.75) < 0.1
