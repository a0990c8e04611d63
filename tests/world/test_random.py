"""Random numbers: known answers, and the same numbers in kernels and in Python phases of the same place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.random_numbers import random_numbers
from tests.toys import HEADER, agents, environment
from warpworld import Array, World
from warpworld.world.random import Random, philox

# kat_vectors of Random123 (Salmon et al. 2011), philox4x32 with 10 rounds: counter, key, words
KNOWN_ANSWERS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
NUM_ENVS, NUM_AGENTS, DRAWS = 5, 3, 11
SEED, FIRST_ENV = 0xFEDC_BA98_7654_3210, 2**31 - 8

DRAW = """
extern "C" __global__ void step(uint32_t* own, uint32_t* of_env, float* numbers, uint32_t* choices, float* bells) {
  const size_t i = agent_index();
  Random random = Random::agent(), shared = Random::env(), again = Random::agent(), mixed = Random::agent();
  for (int k = 0; k < DRAWS; k++) {
    own[i * DRAWS + k] = random.bits();
    of_env[i * DRAWS + k] = shared.bits();
    numbers[i * DRAWS + k] = again.uniform();
  }
  choices[i * 3] = mixed.below(6u);
  choices[i * 3 + 1] = mixed.below(4000000000u);
  choices[i * 3 + 2] = mixed.below(1u);
  bells[i * 2] = mixed.normal();
  bells[i * 2 + 1] = mixed.normal();
}
extern "C" __global__ void known(const uint32_t* counter, const uint32_t* key, uint32_t* words) {
  const int e = env_id() * 4;
  const ww_uint4 w = ww_philox(ww_uint4{counter[e], counter[e + 1], counter[e + 2], counter[e + 3]}, key[env_id() * 2],
                               key[env_id() * 2 + 1]);
  words[e] = w.x, words[e + 1] = w.y, words[e + 2] = w.z, words[e + 3] = w.w;
}
extern "C" __global__ void others(uint32_t* of_others) {
  Random next = Random::of((agent_id() + 1) % NUM_AGENTS);
  of_others[agent_index()] = next.bits();
}
"""
DRAWN = [
    Array("own", "uint32", (DRAWS,)),
    Array("of_env", "uint32", (DRAWS,)),
    Array("numbers", "float32", (DRAWS,)),
    Array("choices", "uint32", (3,)),
    Array("bells", "float32", (2,)),
    Array("of_others", "uint32"),
    Array("counter", "uint32", (4,), per="env", initial=0),
    Array("key", "uint32", (2,), per="env", initial=0),
    Array("words", "uint32", (4,), per="env"),
]


def draw(arrays: Any, active: torch.Tensor) -> None:
    """What the kernel ``step`` does, in PyTorch; in other portions."""
    random = arrays.random
    own = random.bits(DRAWS)
    arrays["own"] = own.to(torch.uint32)
    shared = torch.cat([random.env_bits(1), random.env_bits(DRAWS - 1)], -1)
    arrays["of_env"] = shared[:, None].expand(own.shape).to(torch.uint32)
    arrays["numbers"] = (own >> 8).float() * 2.0**-24


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., World]:
    source = tmp_path_factory.mktemp("kernels") / "draw.cu"
    source.write_text(HEADER + DRAW)

    def make(phases: Any = ("step",), **options: Any) -> World:
        toy = environment(
            source, DRAWN, [agents(NUM_AGENTS)], {"draws": DRAWS}, phases, resets=[], compile_time=("draws",)
        )
        world = World(toy, **{"num_envs": NUM_ENVS, "device": "cpu", "seed": SEED, "first_env": FIRST_ENV, **options})
        world.reset()
        return world

    return make


def numbers(world: World, index: int = 0) -> Random:
    """The generator of a phase of this world, as it stands."""
    constants = world.constants
    return random_numbers(world["clock"], world.num_agents, constants.first_env, constants.seed, index)


class TestKnownAnswers:
    def test_in_torch(self) -> None:
        for counter, key, words in KNOWN_ANSWERS:
            given = tuple(torch.tensor([word]) for word in counter)
            assert tuple(int(word) for word in philox(given, key[0] | key[1] << 32)) == words

    def test_in_a_kernel(self, make: Callable[..., World]) -> None:
        world = make(["known"], num_envs=len(KNOWN_ANSWERS))
        world["counter"] = [counter for counter, _, _ in KNOWN_ANSWERS]
        world["key"] = [key for _, key, _ in KNOWN_ANSWERS]
        world.step()
        assert world["words"].tolist() == [list(words) for _, _, words in KNOWN_ANSWERS]

    @settings(max_examples=30)
    @given(st.lists(st.integers(0, 2**32 - 1), min_size=4, max_size=4), st.integers(0, 2**64 - 1))
    def test_torch_against_plain_integers(self, counter: list[int], seed: int) -> None:
        x, y, z, w = counter
        key = [seed & 0xFFFFFFFF, seed >> 32]
        for _ in range(10):
            first, second = 0xD2511F53 * x, 0xCD9E8D57 * z
            x, y = (second >> 32) ^ y ^ key[0], second & 0xFFFFFFFF
            z, w = (first >> 32) ^ w ^ key[1], first & 0xFFFFFFFF
            key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
        assert [int(word) for word in philox(tuple(torch.tensor(c) for c in counter), seed)] == [x, y, z, w]


@pytest.fixture(scope="module", params=[0, 1, 2**31, 2**32 - 1, 2**32 + 5, 2**47 + 3])
def world(request: pytest.FixtureRequest, make: Callable[..., World]) -> World:
    """A world that has made one step, from this clock on."""
    world = make()
    clock = np.arange(NUM_ENVS, dtype=np.uint64) * np.uint64(7) + np.uint64(request.param)
    world["clock"] = clock
    world.step()
    assert world["clock"].tolist() == (clock + np.uint64(1)).tolist()
    return world


class TestSamePlaceSameNumbers:
    def test_bits_of_agents(self, world: World) -> None:
        assert world["own"].tolist() == numbers(world).bits(DRAWS).tolist()

    def test_bits_of_envs(self, world: World) -> None:
        expected = numbers(world).env_bits(DRAWS)[:, None].expand(NUM_ENVS, NUM_AGENTS, DRAWS)
        assert world["of_env"].tolist() == expected.tolist()

    def test_uniform(self, world: World) -> None:
        assert torch.equal(world["numbers"], numbers(world).uniform(DRAWS))

    def test_below_and_normal_go_on_where_the_last_call_ended(self, world: World) -> None:
        random = numbers(world)
        chosen = torch.cat([random.below(6), random.below(4_000_000_000), random.below(1)], -1)
        assert world["choices"].tolist() == chosen.tolist()
        torch.testing.assert_close(world["bells"], random.normal(2), rtol=1e-5, atol=1e-6)


def test_python_phases_draw_what_kernels_draw(make: Callable[..., World]) -> None:
    kernels, python = make(["step"]), make([draw])
    for _ in range(4):  # again and again: the numbers of a phase start anew with each run of it
        kernels.step()
        python.step()
        for name in ("own", "of_env", "numbers"):
            assert torch.equal(kernels[name], python[name]), name


def test_each_phase_has_numbers_of_its_own(make: Callable[..., World]) -> None:
    world = make([draw, "step"])
    world.step()
    assert world["own"].tolist() == numbers(world, index=1).bits(DRAWS).tolist()
    assert not (numbers(world, 0).bits(DRAWS) == numbers(world, 1).bits(DRAWS)).any()


def test_numbers_of_another_agent(make: Callable[..., World]) -> None:
    world = make(["others"])
    world.step()
    own = numbers(world).bits()[..., 0]
    assert world["of_others"].tolist() == own.roll(-1, 1).tolist()


def test_numbers_do_not_depend_on_how_many_envs_there_are(make: Callable[..., World]) -> None:
    few, many, later = make(num_envs=2), make(num_envs=6), make(num_envs=2, first_env=FIRST_ENV + 4)
    for world in (few, many, later):
        world.step()
    assert torch.equal(few["own"], many["own"][:2])
    assert torch.equal(later["own"], many["own"][4:])


def test_numbers_differ_by_env_agent_clock_and_seed(make: Callable[..., World]) -> None:
    seen: list[int] = []
    for seed in (0, 1, 2**32):
        world = make(seed=seed)
        for _ in range(3):
            world.step()
            seen += world["own"].flatten().tolist()
            seen += world["of_env"][:, 0].flatten().tolist()
    assert len(set(seen)) > len(seen) - 3  # among 32-bit words, a few hundred hardly ever meet


def test_the_whole_range_of_envs_and_agents() -> None:
    clock = torch.zeros(2, dtype=torch.uint64)
    random = random_numbers(clock, 1024, 2**32 - 1, 0, 15)  # env 2^32 is env 0 again
    assert random.bits().shape == (2, 1024, 1)
    assert torch.equal(random.env_bits()[1], random_numbers(clock, 1, 0, 0, 15).env_bits()[0])


def test_they_look_random() -> None:
    random = random_numbers(torch.arange(512).to(torch.uint64), 8, 0, 3, 0)
    drawn, bells = random.uniform(16).double(), random.normal(16).double()
    assert drawn.min() >= 0.0 and drawn.max() < 1.0
    count = drawn.numel() ** 0.5
    assert abs(drawn.mean() - 0.5) < 4 * 0.2887 / count
    assert abs(bells.mean()) < 4 / count
    assert abs(bells.std() - 1.0) < 4 / count
    assert torch.bincount(random.below(6, 16).flatten()).tolist() == pytest.approx([65536 / 6] * 6, rel=0.05)
    shared = random.env_below(10, 64), random.env_uniform(64), random.env_normal(64)
    assert [tuple(part.shape) for part in shared] == [(512, 64)] * 3
    assert shared[0].min() == 0 and shared[0].max() == 9


def test_restart_begins_again() -> None:
    random = random_numbers(torch.arange(3).to(torch.uint64), 2, 0, 3, 0)
    first, shared = random.bits(5), random.env_bits(3)
    assert not torch.equal(first, random.bits(5))
    random.restart()
    assert torch.equal(first, torch.cat([random.bits(2), random.bits(3)], -1))
    assert torch.equal(shared, random.env_bits(3))
