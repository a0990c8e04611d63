"""Packaged envs beside the cpu backend's where launches and results are perturbed as a GPU may perturb them.

Blocks and threads run in another order, memory that a GPU leaves undefined is filled, half of all results of math
functions are moved by a last bit, and products and sums are contracted.
"""

from __future__ import annotations

import pytest
import torch

from benchmarks.gpu.compare import ComparedWorld, compare, compared_worlds
from tests.cases import seldom
from tests.stand_in.driver import StandIn
from tests.stand_in.plugin import REAL_NVCC
from warpworld import World
from warpworld.environment import get_environment
from warpworld.managers import devices
from warpworld.managers.cpu.backend import CpuBackend

pytestmark = [pytest.mark.stand_in, pytest.mark.long]

SEEDS = (1, 2, 3)
STEPS = 20
COMPARED_WORLDS = compared_worlds()


def name_of(compared: ComparedWorld) -> str:
    """Its place among all, and its env."""
    return f"{COMPARED_WORLDS.index(compared)} {compared.name}"


@pytest.fixture
def cpu_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device "cpu" is the cpu backend's, as it is where a GPU is."""
    monkeypatch.setitem(devices._loaders, "cpu", CpuBackend)


# `warpworld check` runs each of the other environments in two orders and follows what is undefined at each push, see
# tests/checking/test_correct_kernels.py; of those that it leaves to the night one world of each stays here. Beside them
# stay worlds for what is of the framework: one agent, turns, two groups, more agents than threads, code blocks.
ORDERED = ("cartpole", "connect_four", "minatar_breakout", "tag_gridworld", "tag_continuous", "companions, of blocks")
ORDERED += ("battle", "deathmatch", "epidemic", "point_goal", "skirmish", "waypoint", "crowd, in turns")


def ordered(compared: ComparedWorld) -> object:
    """A case; the first of each name that is kept is run at each push."""
    first = next(each for each in COMPARED_WORLDS if each.name == compared.name)
    is_kept = compared.name in ORDERED and compared is first
    return pytest.param(compared, id=name_of(compared), marks=() if is_kept else seldom)


@pytest.mark.parametrize("compared", [ordered(compared) for compared in COMPARED_WORLDS])
def test_order_and_undefined_memory_change_no_bit(
    compared: ComparedWorld, cpu_backend: None, stand_in: StandIn
) -> None:
    for seed in SEEDS:
        stand_in.perturb(seed)
        found = compare(compared, "cuda", STEPS, exact=True)
        assert found["bit_for_bit"], (seed, found["differences"])


# Worlds whose floats come from all that rounds differently: a libm function, sums in an order, rays, and blocks.
OF_FLOATS = ("cartpole", "tag_continuous", "point_goal", "deathmatch", "skirmish", "companions, of blocks")


def perturbed_floats(compared: ComparedWorld) -> object:
    """A case; integers alone are those of the test above."""
    first = next(each for each in COMPARED_WORLDS if each.name == compared.name)
    is_kept = compared.name in OF_FLOATS and compared is first
    return pytest.param(compared, id=name_of(compared), marks=() if is_kept else seldom)


@pytest.mark.parametrize("compared", [perturbed_floats(compared) for compared in COMPARED_WORLDS])
def test_results_stay_near_where_floats_differ_in_a_last_bit(
    compared: ComparedWorld, cpu_backend: None, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPWORLD_NVCCFLAGS", "--fmad=true -DSTAND_IN_LIBM_SEED=1")
    monkeypatch.setenv(REAL_NVCC, "")  # which compiles the same text in the test above
    stand_in.perturb(1)
    found = compare(compared, "cuda", STEPS, exact=False)
    assert found["differences"] == []


def test_the_order_of_atomics_shows_in_scratch_arrays_alone(stand_in: StandIn) -> None:
    first, second = (arrays_of_a_crowd(stand_in, seed) for seed in (1, 2))
    assert {name for name in first if not torch.equal(first[name], second[name])} == {"crowd"}


def arrays_of_a_crowd(stand_in: StandIn, seed: int) -> dict[str, torch.Tensor]:
    """All arrays of an env of 2,000 agents after some steps, in an order of threads."""
    stand_in.perturb(seed)
    kind = get_environment("tag_continuous")
    crowd = kind(num_taggers=100, num_runners=1900, grid_length=90.0, use_full_observation=False, episode_length=3)
    world = World(crowd, num_envs=2, seed=5)
    world.reset()
    for _ in range(4):
        world.step()
    return {name: world[name].clone() for name in world.data}
