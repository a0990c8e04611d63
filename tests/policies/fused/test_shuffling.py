"""Rows are shuffled into minibatches in C++."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from warpworld.policies.fused import Shuffler

shuffle = Shuffler(2)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def parts_of(order: Tensor, count: int, parts: int) -> list[list[int]]:
    lengths = [count // parts + (part < count % parts) for part in range(parts)]
    return [part.tolist() for part in order.split(lengths)]


@settings(max_examples=100)
@given(count=st.integers(1, 700), parts=st.integers(1, 700), seed=st.integers(0, 2**32 - 1))
def test_every_number_is_dealt_once_and_ascends_within_its_part(count: int, parts: int, seed: int) -> None:
    parts = min(parts, count)
    shuffled = parts_of(shuffle(count, parts, seeded(seed)), count, parts)
    assert len(shuffled) == parts
    assert sorted(itertools.chain(*shuffled)) == list(range(count))
    assert all(part == sorted(part) for part in shuffled)


@pytest.mark.parametrize(("count", "parts", "ways"), [(6, 3, 90), (5, 2, 10), (4, 4, 24), (7, 3, 210)])
@pytest.mark.long
def test_all_ways_are_equally_likely(count: int, parts: int, ways: int) -> None:
    generator, each = seeded(count), 300
    found = Counter(tuple(shuffle(count, parts, generator).tolist()) for _ in range(each * ways))
    assert len(found) == ways
    chi_square = sum((number - each) ** 2 / each for number in found.values())
    degrees = ways - 1
    assert chi_square < degrees + 5 * math.sqrt(2 * degrees)


def test_two_numbers_meet_in_a_part_as_often_as_by_chance() -> None:
    # Neighbours, and numbers whose words are drawn from neighbouring counters.
    generator, count, parts, times = seeded(1), 6400, 64, 60
    part_of, near, far = torch.empty(count, dtype=torch.int64), 0, 0
    for _ in range(times):
        part_of[shuffle(count, parts, generator)] = torch.arange(count) // (count // parts)
        near += int((part_of[1:] == part_of[:-1]).sum())
        far += int((part_of[64:] == part_of[:-64]).sum())
    for met, pairs in ((near, times * (count - 1)), (far, times * (count - 64))):
        chance = 99 / 6399
        assert abs(met - pairs * chance) < 5 * math.sqrt(pairs * chance)


def test_the_generator_says_how_and_is_moved() -> None:
    generators = [seeded(1), seeded(1), seeded(2)]
    first = [shuffle(1000, 7, generator) for generator in generators]
    second = [shuffle(1000, 7, generator) for generator in generators]
    assert torch.equal(first[0], first[1])
    assert torch.equal(second[0], second[1])
    assert not torch.equal(first[0], first[2])
    assert not torch.equal(first[0], second[0])


@pytest.mark.parametrize("workers", [1, 3])
def test_passes_that_are_shuffled_together_are_those_that_are_shuffled_in_turn(workers: int) -> None:
    together, one_by_one, shuffler = seeded(4), seeded(4), Shuffler(workers)
    for count, parts, passes in ((5_003, 7, 4), (90_001, 40, 3), (90_001, 40, 3), (10, 10, 20)):
        expected = torch.cat([shuffle(count, parts, one_by_one) for _ in range(passes)])
        assert torch.equal(shuffler(count, parts, together, passes), expected)


def test_a_shuffle_where_the_cpp_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpworld.policies.fused.shuffling.found_library", lambda: None)
    for order in Shuffler()(100, 7, seeded(1), 2).split(100):
        assert order.sort().values.tolist() == list(range(100))
