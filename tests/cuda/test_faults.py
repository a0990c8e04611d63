"""Faulty kernels become errors that name kernel, env, agent and line; the same world and process then go on."""

from __future__ import annotations

import platform
import re
import resource
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cuda.kernel_worlds import HERE, kernel_world
from warpworld import Array, World
from warpworld.errors import DeviceError, KernelError

pytestmark = pytest.mark.cpu_backend

NUM_ENVS, NUM_AGENTS, BAD_ENV, BAD_AGENT = 500, 8, 433, 5
WORKERS = [1, 2]
MODES = [
    *("right", "assertion", "trap", "null_pointer", "wild_pointer", "division", "recursion", "endless", "barriers"),
    "give_up",
]
SAYS = {
    "assertion": "assertion failed: zeros[0] == 1",
    "trap": "__trap() was called",
    "null_pointer": "invalid memory access at address 0x0: a null pointer",
    "wild_pointer": "invalid memory access",
    "division": "integer division by zero",
    "recursion": "stack overflow: local variables of one agent take more than 64 KiB",
    "endless": "no progress within 0.5 s",
    "barriers": "no progress within 0.5 s",
    "give_up": "the C library gave up",
}
NUMBERS = ("mode", "late", "bad_env", "bad_agent")
ARRAYS = [
    *(Array(name, "int32", per="world", initial=0) for name in NUMBERS),
    *(Array("zeros", "int32", (2,), per="world", initial=0), Array("x", "float32", initial=0.0)),
]


def faulty_world(workers: int, num_agents: int = NUM_AGENTS, kernel: str = "step", **settings: Any) -> World:
    frame = {"frame": 200_000 if num_agents > 1 else 20 << 20}
    return kernel_world("faults.cu", kernel, ARRAYS, num_agents, NUM_ENVS, workers, constants=frame, **settings)


@pytest.fixture(scope="module")
def worlds() -> Iterator[dict[int, World]]:
    """By number of workers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPWORLD_KERNEL_TIMEOUT", "0.5")
        yield {workers: faulty_world(workers) for workers in WORKERS}


def place_of(mark: str, source: str = "faults.cu") -> str:
    """File and line of the line that ends in ``// mark``, as a message starts with it."""
    lines = (HERE / source).read_text().splitlines()
    (line,) = (number for number, line in enumerate(lines, start=1) if line.endswith(f"// {mark}"))
    return f"{HERE / source}:{line}: "


def fault(world: World, mode: int, **numbers: int) -> str:
    """What a step with this fault says."""
    for name, value in {"late": 0, "bad_env": BAD_ENV, "bad_agent": BAD_AGENT, **numbers}.items():
        if name in world.data:
            world[name] = value
    world["mode"] = mode
    with pytest.raises(KernelError) as caught:
        world.step()
    return str(caught.value)


def goes_on(world: World) -> bool:
    """Whether the world's next steps are right."""
    world["mode"], world["x"] = 0, 0.0
    for _ in range(3):
        world.step()
    return bool((world["x"] == 3.0).all())


def skip_division(mode: str) -> None:
    if mode == "division" and platform.machine() != "x86_64":
        pytest.skip("integer division by zero faults on x86 only")


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("mode", MODES[1:])
def test_faults_name_kernel_env_agent_and_line(mode: str, late: int, workers: int, worlds: dict[int, World]) -> None:
    skip_division(mode)
    said = fault(worlds[workers], MODES.index(mode), late=late)
    assert SAYS[mode] in said
    assert "kernel 'step', env " in said
    if mode != "barriers":  # where everybody spins
        assert f"kernel 'step', env {BAD_ENV}, agent {BAD_AGENT}: " in said
        if shutil.which("addr2line") and mode != "give_up":  # which is somewhere in the C library
            assert said.startswith(place_of(mode))
    assert goes_on(worlds[workers])


def skip_big_stacks() -> None:
    limit = resource.getrlimit(resource.RLIMIT_STACK)[0]
    if not 0 < limit <= 16 << 20:
        pytest.skip("threads may have stacks of more than 16 MiB")


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("mode", ["assertion", "null_pointer", "recursion", "endless"])
def test_faults_of_a_single_agent(mode: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if mode == "recursion":
        skip_big_stacks()
    monkeypatch.setenv("WARPWORLD_KERNEL_TIMEOUT", "0.5")
    world = faulty_world(workers, num_agents=1)
    said = fault(world, MODES.index(mode), bad_agent=0)
    assert f"kernel 'step', env {BAD_ENV}, agent 0: " in said
    assert SAYS[mode].partition(": local")[0] in said
    assert goes_on(world)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("num_agents", [NUM_AGENTS, 1])
def test_local_variables_that_no_stack_holds(num_agents: int, late: int, workers: int) -> None:
    if num_agents == 1:
        skip_big_stacks()
    said = fault(faulty_world(workers, num_agents, kernel="wide"), 0, late=late)
    assert "stack overflow: local variables " in said
    assert re.match(rf"{re.escape(str(HERE / 'faults.cu'))}:\d+: kernel 'wide', env \d+, agent \d+: ", said)
    assert goes_on(faulty_world(workers, num_agents))


@pytest.mark.parametrize("mode", ["assertion", "null_pointer", "recursion"])
def test_faults_in_all_envs_at_once(mode: str, worlds: dict[int, World]) -> None:
    for i in range(60):
        said = fault(worlds[2], MODES.index(mode), bad_env=-1, late=i % 2)
        assert re.search(rf"kernel 'step', env \d+, agent {BAD_AGENT}: ", said)
        assert SAYS[mode] in said
        assert goes_on(worlds[2])


@pytest.mark.parametrize("workers", WORKERS)
def test_agents_at_different_barriers(workers: int) -> None:
    world = faulty_world(workers, kernel="diverge")
    one, another = place_of("one site"), place_of("another site")
    said = fault(world, 1)
    assert said.startswith((one, another))
    assert "kernel 'diverge', env " in said
    assert "the agents of one env wait at different barriers" in said
    assert all(f"line {place.split(':')[1]}" in said for place in (one, another))
    assert goes_on(world)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(
    ("mode", "says"),
    [
        (1, "deadlock: some threads wait for their block at line {the others of the block}, others for their warp"),
        (2, "deadlock: lanes of one warp wait at line {that names others} with masks"),
        (3, "threads of one block wait at different barriers, at line {one site} and at line {another site}"),
    ],
)
def test_warps_and_blocks_that_wait_for_each_other(mode: int, says: str, workers: int) -> None:
    world = kernel_world("deadlocks.cu", "step", [ARRAYS[0], ARRAYS[-1]], NUM_AGENTS, NUM_ENVS, workers)
    said = fault(world, mode)
    for mark in re.findall(r"\{(.*?)\}", says):
        says = says.replace(f"{{{mark}}}", place_of(mark, "deadlocks.cu").split(":")[1])
    if mode == 3:
        sites = re.findall(r"at line (\d+)", says)
        assert sorted(re.findall(r"at line (\d+)", said)) == sorted(sites)
    else:
        assert says in said
    assert said.startswith(str(HERE / "deadlocks.cu"))
    assert re.search(r"kernel 'step', env \d+, agent \d+: ", said)
    assert goes_on(world)


def test_packed_envs_are_named() -> None:
    world = faulty_world(2, envs_per_warp=3)
    said = fault(world, MODES.index("assertion"))
    assert f"kernel 'step', env {BAD_ENV}, agent {BAD_AGENT}: " in said
    assert goes_on(world)


def test_envs_of_another_process_are_counted_along() -> None:
    said = fault(faulty_world(1, first_env=1000), MODES.index("assertion"))
    assert f"kernel 'step', env {1000 + BAD_ENV}, agent {BAD_AGENT}: " in said


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan"])
def test_impossible_timeouts(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWORLD_KERNEL_TIMEOUT", text)
    with pytest.raises(DeviceError, match=rf"WARPWORLD_KERNEL_TIMEOUT='{text}': expected seconds, more than 0"):
        faulty_world(1)
