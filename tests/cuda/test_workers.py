"""The pool of workers: results do not depend on it, and no env is lost whoever launches, and whatever else."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.cuda.kernel_worlds import HERE, kernel_world, run
from tests.cuda.test_faults import MODES, SAYS, fault, faulty_world, goes_on
from tests.toys import environment
from warpworld import Array, Kernel, World
from warpworld.environment import placed_groups
from warpworld.managers.cpu.backend import CpuBackend
from warpworld.managers.cpu.module import Module
from warpworld.managers.data_manager import DataManager
from warpworld.managers.function_manager import FunctionManager
from warpworld.managers.program import WorldConstants
from warpworld.world.reserved import reserved_arrays

pytestmark = pytest.mark.cpu_backend

X, Y = Array("x", "float32"), Array("y", "float32")
WANDER = [Array("position", "float32", initial=0.0), Array("draws", "uint32", initial=0)]
TALLY = [Array("calls", "int32", per="env", initial=0), Array("total", "uint64", (1,), per="world", initial=0)]


def wanderers(workers: int, num_envs: int = 300, num_agents: int = 5, **settings: int) -> World:
    return kernel_world("workers.cu", "wander", WANDER, num_agents, num_envs, workers, **settings)


def wandered(world: World, steps: int = 100) -> bytes:
    """Everything after some steps."""
    for _ in range(steps):
        world.step()
    return world.snapshot().numpy().tobytes()


def tallies(workers: int, num_envs: int, num_agents: int = 1) -> World:
    kernel = Kernel("tally", own_env_only=False)
    return kernel_world("workers.cu", kernel, TALLY, num_agents, num_envs, workers)


def is_tallied(world: World, steps: int) -> bool:
    """Whether so many steps were counted, by every agent of every env."""
    agents, envs = world.num_agents, world.num_envs
    all_called = bool((world["calls"] == steps * agents * (agents + 1) // 2).all())
    return all_called and int(world["total"]) == steps * agents * envs * (envs + 1) // 2


def test_bits_do_not_depend_on_workers() -> None:
    expected = wandered(wanderers(1))
    for workers in (2, 3, 7, 16):  # some more than there are cores
        assert wandered(wanderers(workers)) == expected


@pytest.mark.long
def test_many_launches_of_alternating_sizes_and_workers() -> None:
    random = np.random.default_rng(0)
    worlds = [tallies(workers, num_envs) for num_envs in (1, 8, 65, 300, 2000) for workers in (1, 2, 3, 7)]
    worlds += [tallies(workers, 130, num_agents=3) for workers in (1, 3)]
    steps = np.zeros(len(worlds), int)
    for chosen in random.integers(0, len(worlds), 20_000):
        worlds[chosen].step()
        steps[chosen] += 1
    assert all(is_tallied(world, count) for world, count in zip(worlds, steps, strict=True))


def test_launches_from_several_threads_at_once() -> None:
    expected = wandered(wanderers(1))
    tallied = [tallies(workers, 500) for workers in (1, 2, 3)]
    results: list[object] = []

    def wander(workers: int) -> None:
        results.append(wandered(wanderers(workers)) == expected)

    def tally(world: World) -> None:
        for _ in range(1000):
            world.step()
        results.append(is_tallied(world, 1000))

    def fail(world: World) -> None:
        for _ in range(20):
            fault(world, MODES.index("assertion"))
            results.append(goes_on(world))

    threads = [threading.Thread(target=wander, args=(workers,)) for workers in (1, 2, 3)]
    threads += [threading.Thread(target=tally, args=(world,)) for world in tallied]
    threads.append(threading.Thread(target=fail, args=(faulty_world(2),)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 26


def in_child(world: World, expected: bytes) -> int:
    """What a forked child finds: 0 if all is well."""
    if wandered(world) != expected:
        return 1
    if pool_size() != 2:
        return 2
    broken = faulty_world(2)
    for mode in ("assertion", "endless"):
        if SAYS[mode] not in fault(broken, MODES.index(mode)) or not goes_on(broken):
            return 3
    return 0


def exit_status(child: int, seconds: float) -> int:
    """How a child ended; it is killed if it does not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.long
def test_launches_after_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWORLD_KERNEL_TIMEOUT", "0.5")
    world, twin, busy = wanderers(3, num_envs=2000), wanderers(3, num_envs=2000), wanderers(2)
    wandered(world)
    wandered(twin)
    expected = wandered(twin)
    stop = threading.Event()

    def keep_busy() -> None:
        while not stop.is_set():
            busy.step()

    thread = threading.Thread(target=keep_busy)  # some of the forks come in the middle of its launches
    thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                status = 9
                try:
                    status = in_child(world, expected)
                finally:
                    os._exit(status)
            assert exit_status(child, seconds=60) == 0
    finally:
        stop.set()
        thread.join()
    assert wandered(world) == expected


def pool_threads() -> list[Path]:
    found = ((task, (task / "comm").read_text().strip()) for task in Path("/proc/self/task").iterdir())
    return [task for task, name in found if name.startswith("warpworld-") and name != "warpworld-watch"]


def pool_size() -> int:
    """How many threads the pool has, besides those that launch; 2 where there is no /proc to ask."""
    return len(pool_threads()) if Path("/proc/self/task").exists() else 2


def pool_switches() -> int:
    """How often the pool's threads have gone to sleep."""
    lines = [line for task in pool_threads() for line in (task / "status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def switches_of_sleeping_pool() -> int:
    """``pool_switches``, once all of the pool's threads have come to rest: on a busy machine that takes a while."""
    before, now = -1, pool_switches()
    while now != before:
        time.sleep(0.2)
        before, now = now, pool_switches()
    return now


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc")
def test_small_jobs_wake_nobody() -> None:
    large, small = wanderers(3, num_envs=5000), tallies(3, 8)
    wandered(large, 3)
    before = switches_of_sleeping_pool()
    for _ in range(2000):
        small.step()
    assert pool_switches() == before
    for _ in range(3):
        large.step()
        time.sleep(0.05)
    assert pool_switches() > before


def test_many_modules_in_one_process(tmp_path: Path) -> None:
    """What they keep per thread fits beside torch's: 80 copies of one module."""
    backend = CpuBackend(2)
    data = DataManager(backend.allocate, 9, 5)
    constants = WorldConstants(9, 0, 0)
    for array in (*reserved_arrays(placed_groups(environment(None, resets=())), constants), X, Y):
        data.add(array)
    functions = FunctionManager(backend, data, HERE / "shared.cu", {"NUM_AGENTS": 5}, {})
    functions.build([Kernel("reverse")])
    data.seal()
    data["x"] = np.arange(45.0, dtype=np.float32).reshape(9, 5)
    step = functions.step("reverse", 0)
    for number in range(80):
        copy = tmp_path / f"{number}.so"
        shutil.copy(step.module.path, copy)
        own = dataclasses.replace(step, module=Module(copy, step.module.source))
        data["y"] = 0.0
        backend.program([own], data, constants)()
        assert torch.equal(data["y"], data["x"].flip(1))


def test_denormal_numbers_whatever_torch_is_told() -> None:
    arrays = [Array("small", "float32", initial=1e-20), Array("product", "float32")]
    world = kernel_world("workers.cu", "shrink", arrays, 5, 1000, 3)
    (expected,) = run(world, "product")
    assert (expected == np.float32(1e-20) * np.float32(1e-20)).all()
    assert expected.all()
    if not torch.set_flush_denormal(True):
        pytest.skip("torch cannot flush denormals here")
    try:
        for _ in range(20):
            assert run(world, "product")[0].tobytes() == expected.tobytes()  # compared as numbers, all would be zeros
        assert torch.tensor(1e-20) * torch.tensor(1e-20) == 0.0  # torch's setting is left alone
    finally:
        torch.set_flush_denormal(False)
