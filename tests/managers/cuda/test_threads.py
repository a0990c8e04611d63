"""Worlds on cuda in any thread, and on several GPUs: each launch is made in the context of its own GPU."""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable
from typing import TypeVar

import pytest
import torch

from tests.stand_in.driver import StandIn
from tests.stand_in.host_gpu import HostGpu
from tests.stand_in.test_worlds_on_stand_in import on_cpu_backend
from warpworld import World
from warpworld.environment import get_environment
from warpworld.errors import KernelError
from warpworld.managers.cuda import backend as cuda_backend
from warpworld.managers.cuda.backend import CudaBackend
from warpworld.managers.cuda.driver import Driver

pytestmark = pytest.mark.stand_in

Result = TypeVar("Result")
NUM_ENVS = 37


KEPT: list[Driver] = []  # a process keeps its drivers; PyCUDA makes the context of one that is deleted the thread's


@pytest.fixture
def fresh_drivers(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has used no GPU yet."""

    @functools.cache
    def driver_of(ordinal: int) -> Driver:
        KEPT.append(Driver(ordinal))
        return KEPT[-1]

    monkeypatch.setattr(cuda_backend, "driver_of", driver_of)


def in_a_thread(call: Callable[[], Result]) -> Result:
    """What a thread of its own, which has used no CUDA yet, makes of a call."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def world(ordinal: int = 0) -> World:
    """A world on a GPU."""
    environment = get_environment("tag_gridworld")(num_taggers=4, episode_length=9)
    return World(environment, NUM_ENVS, seed=5, backend=CudaBackend(HostGpu(ordinal=ordinal)))


def expected_after(steps: int) -> dict[str, torch.Tensor]:
    """Every array of the same world on the cpu backend."""
    plain = on_cpu_backend(get_environment("tag_gridworld")(num_taggers=4, episode_length=9), NUM_ENVS, seed=5)
    plain.reset()
    for _ in range(steps):
        plain.step()
    return {name: plain[name].clone() for name in plain.data}


def assert_is_after(steps: int, stepped: World) -> None:
    for name, values in expected_after(steps).items():
        assert torch.equal(stepped[name], values), name


# ---- one GPU --------------------------------------------------------------------------------------------------------
def test_threads_step_a_world_that_another_has_made(stand_in: StandIn) -> None:
    shared = world()
    shared.reset()
    shared.step()
    with stand_in.recording() as launches:
        in_a_thread(shared.step)
    assert [launch.name for launch in launches] == ["ww_entry_step", "ww_entry_reset"]  # each once
    for _ in range(10):
        in_a_thread(shared.step)
        shared.step()
    assert_is_after(22, shared)


def test_a_thread_gets_its_context_once(stand_in: StandIn) -> None:
    shared = world()
    shared.reset()

    def step_often() -> list[int]:
        counts = []
        for _ in range(3):
            shared.step()
            counts.append(stand_in.calls("cuCtxSetCurrent") + stand_in.calls("cuCtxPushCurrent_v2"))
        return counts

    before = stand_in.calls("cuCtxSetCurrent") + stand_in.calls("cuCtxPushCurrent_v2")
    assert in_a_thread(step_often) == [before + 1] * 3


def test_a_world_that_another_thread_drops(stand_in: StandIn, recwarn: pytest.WarningsRecorder) -> None:
    gc.collect()
    world()  # whatever was dropped before is unloaded
    dropped = [world()]
    dropped[0].reset()
    unloaded = stand_in.calls("cuModuleUnload")
    in_a_thread(dropped.clear)
    in_a_thread(world)
    assert stand_in.calls("cuModuleUnload") == unloaded + 1
    assert not recwarn.list


def test_a_world_of_a_thread_s_own(stand_in: StandIn) -> None:
    def make() -> World:
        made = world()
        made.reset()
        made.step()
        return made

    made = in_a_thread(make)
    made.step()
    assert_is_after(2, made)


def test_the_first_world_in_another_thread(fresh_drivers: None) -> None:
    made = in_a_thread(world)
    made.reset()
    made.step()
    assert_is_after(1, made)


def test_threads_whose_launches_are_waited_for(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWORLD_CUDA_SYNC", "1")
    shared = world()
    shared.reset()
    in_a_thread(shared.step)
    assert_is_after(1, shared)


def test_a_fault_in_a_thread_is_explained(stand_in: StandIn) -> None:
    shared = world()
    shared.reset()

    def fault() -> None:
        shared.step()
        stand_in.inject("cuLaunchKernel", 719)
        shared.step()

    with pytest.raises(KernelError, match=r"noticed at the launch of 'step' .*: it faulted"):
        in_a_thread(fault)


def test_a_thread_that_gets_no_context(stand_in: StandIn) -> None:
    shared = world()
    shared.reset()
    stand_in.inject("cuCtxSetCurrent", 101)
    with pytest.raises(KernelError, match=r"kernel 'step' .* was not launched: .*invalid device context"):
        in_a_thread(shared.step)


# ---- two GPUs -------------------------------------------------------------------------------------------------------
@pytest.fixture
def two_gpus(stand_in: StandIn, fresh_drivers: None) -> StandIn:
    """A machine with two, as a process finds it."""
    stand_in.pretend(num_devices=2)
    return stand_in


def test_worlds_on_two_gpus_take_turns(two_gpus: StandIn) -> None:
    first, second = world(0), world(1)
    here = HostGpu().current_device()
    for each in (first, second):
        each.reset()
    for _ in range(5):
        for each in (first, second):
            each.step()
            assert HostGpu().current_device() == here  # the caller's own is left as it was
    for each in (first, second):
        assert_is_after(5, each)


def test_a_world_is_made_while_another_gpu_s_is_current(two_gpus: StandIn) -> None:
    second = world(1)
    with second._backend._driver.active():  # type: ignore[attr-defined]
        first = world(0)
        first.reset()
        first.step()
        assert HostGpu().current_device() == 1
    first.step()
    assert_is_after(2, first)


def test_threads_step_worlds_on_two_gpus(two_gpus: StandIn) -> None:
    worlds = [world(0), world(1)]
    for each in worlds:
        each.reset()

    def step_both() -> None:
        for each in worlds:
            each.step()

    in_a_thread(step_both)
    in_a_thread(lambda: step_both() or step_both())
    for each in worlds:
        assert_is_after(3, each)


def test_a_graph_of_the_other_gpu(two_gpus: StandIn) -> None:
    second = world(1)
    second.reset()
    step = second.capture(second.step)
    step()
    in_a_thread(second.step)
    assert_is_after(2, second)


def test_the_gpu_is_asked_for_only_where_there_are_several(stand_in: StandIn) -> None:
    asked: list[int] = []

    class Counting(HostGpu):
        def current_device(self) -> int:
            asked.append(self.ordinal)
            return super().current_device()

    only = World(get_environment("cartpole")(), 3, backend=CudaBackend(Counting()))
    only.reset()
    only.step()
    assert asked == []
