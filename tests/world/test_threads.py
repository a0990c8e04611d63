"""A step is whole: where several threads step one world, they take turns."""

from __future__ import annotations

import copy
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.world.walks import Toy
from warpworld import Array, Kernel, World

STEPS = 200  # of each thread


@pytest.fixture(autouse=True)
def quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def assert_turns_are_taken(world: World) -> None:
    """What two threads do is what one does that makes as many steps."""
    world.reset()
    alone = copy.deepcopy(world)
    for _ in range(2 * STEPS):
        alone.step()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            for _ in range(STEPS):
                world.step()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for name in world.data:
        assert torch.equal(world[name], alone[name]), name


def test_of_one_native_call(walk: Toy) -> None:
    assert_turns_are_taken(walk(episode_length=7))


def test_of_several_launches(toy: Toy) -> None:
    text = """
extern "C" __global__ void first(long long* x) { if (is_active()) x[agent_index()] = x[agent_index()] * 3 + 1; }
extern "C" __global__ void second(long long* x) { if (is_active()) x[agent_index()] ^= x[agent_index()] >> 7; }
extern "C" __global__ void third(long long* x) { if (is_active()) x[agent_index()] = x[agent_index()] * 5 - 2; }
"""
    phases = [Kernel(name, own_env_only=False) for name in ("first", "second", "third")]
    assert_turns_are_taken(toy(text, Array("x", "int64", initial=1), phases=phases, resets=[]))


@pytest.mark.cpu_backend  # the stand-in's tensors are on cuda in the main thread alone
@pytest.mark.long
def test_of_python_phases(toy: Toy) -> None:
    def double(arrays: Any, active: torch.Tensor) -> None:
        arrays["x"].mul_(2).remainder_(1009)
        time.sleep(0)  # lets another thread run

    def draw(arrays: Any, active: torch.Tensor) -> None:
        arrays["x"].add_(arrays.random.below(100).reshape(arrays["x"].shape))
        time.sleep(0)

    assert_turns_are_taken(toy(None, Array("x", "int32", initial=1, on_reset="keep"), phases=[double, draw, double]))


def test_a_phase_that_fails_gives_its_turn_back(toy: Toy) -> None:
    def fail(arrays: Any, active: torch.Tensor) -> None:
        if bool((arrays["timestep"] == 1).any()):
            raise ValueError("that once")

    world = toy(None, Array("x", "int32", initial=0), phases=[fail, fail])
    world.reset()
    with pytest.raises(ValueError, match="that once"):
        world.step()
    thread = threading.Thread(target=world.step)
    thread.start()
    thread.join()
    assert world["timestep"].tolist() == [2] * 6
