"""What a step becomes on the driver: which launches, on which stream, with the world's own work in them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stand_in.driver import Launch, StandIn
from tests.toys import HEADER, agents, environment
from warpworld import Array, Kernel, World
from warpworld.managers.cuda.launches import MAX_COPIES, _Launch
from warpworld.managers.kernel_source import INCLUDE_FOLDER

pytestmark = pytest.mark.stand_in

BEGIN_STEP, BEGIN_RESET, END_STEP = 1, 2, 3

STEP = HEADER + (
    'extern "C" __global__ void step(const int* timestep, bool* truncated) {\n'
    "  if (is_active() && agent_id() == 0) truncated[env_id()] = timestep[env_id()] == 3;\n}\n"
)


def own_work(launch: Launch) -> tuple[int, int]:
    """Transition and number of copies that ride in a launch."""
    own = _Launch.from_buffer_copy(launch.parameters[: ctypes.sizeof(_Launch)])
    return own.transition, own.num_copies


def test_the_structs_are_those_of_the_header() -> None:
    text = (INCLUDE_FOLDER / "gpu" / "launch.cuh").read_text()
    (size,) = re.findall(r"sizeof\(ww_launch\) == (\d+)", text)  # which the compiler confirms
    assert ctypes.sizeof(_Launch) == int(size)
    assert re.search(rf"#define WW_MAX_COPIES {MAX_COPIES}\b", text)


def world_of(tmp_path: Path, text: str, arrays: list[Array], phases: list[str | Kernel], resets: list[str]) -> World:
    path = tmp_path / "toy.cu"
    path.write_text(text)
    world = World(environment(path, arrays, [agents(2)], phases=phases, resets=resets), num_envs=5)
    world.reset()
    return world


@pytest.mark.parametrize("num_arrays", [0, 1, MAX_COPIES, MAX_COPIES + 1, 2 * MAX_COPIES + 3])
def test_copies_ride_in_as_many_launches_as_they_need(num_arrays: int, stand_in: StandIn, tmp_path: Path) -> None:
    """Initial values that are restored where no kernel comes behind them."""
    arrays = [Array(f"x{i}", "int16", (i + 1,), initial=i + 7) for i in range(num_arrays)]
    world = world_of(tmp_path, STEP, arrays, ["step"], [])
    for array in arrays:
        world[array.name] = -1
    world["timestep"][:] = world["timestep"].new_tensor([2, 0, 2, 0, 0])  # the first and the third env end now
    with stand_in.recording() as launches:
        world.step()
    work = [(launch.name, *own_work(launch)) for launch in launches]
    full = [MAX_COPIES] * (num_arrays // MAX_COPIES) + [num_arrays % MAX_COPIES] * (num_arrays % MAX_COPIES > 0)
    idle = [("ww_entry_idle", END_STEP if i == 0 else 0, copies) for i, copies in enumerate(full or [0])]
    assert work == [("ww_entry_step", BEGIN_STEP, 0), *idle]
    assert {(launch.grid, launch.block) for launch in launches[1:]} == {((5, 1, 1), (32, 1, 1))}
    for i, array in enumerate(arrays):
        assert world[array.name][[0, 2]].eq(i + 7).all() and world[array.name][[1, 3, 4]].eq(-1).all()
    assert world["timestep"].tolist() == [0, 1, 0, 1, 1]


def test_a_kernel_that_reads_other_envs_waits_for_their_work(stand_in: StandIn, tmp_path: Path) -> None:
    text = STEP + 'extern "C" __global__ void reset() {}\n'
    text += 'extern "C" __global__ void look(const int* timestep) {}\n'
    phases: list[str | Kernel] = [Kernel("look", own_env_only=False), "step"]
    world = world_of(tmp_path, text, [], phases, ["reset"])
    with stand_in.recording() as launches:
        world.step()
    names = [(launch.name, *own_work(launch)) for launch in launches]
    assert names == [
        ("ww_entry_idle", BEGIN_STEP, 0),
        ("ww_entry_look", 0, 0),
        ("ww_entry_step", 0, 0),
        ("ww_entry_reset", END_STEP, 0),
    ]


def test_a_masked_reset_is_one_launch(stand_in: StandIn, tmp_path: Path) -> None:
    world = world_of(tmp_path, STEP + 'extern "C" __global__ void reset() {}\n', [], ["step"], ["reset"])
    with stand_in.recording() as launches:
        world.reset(world["active"].new_tensor([True, False, False, True, False]))
    assert [(launch.name, *own_work(launch)) for launch in launches] == [("ww_entry_reset", BEGIN_RESET, 0)]
    assert world["clock"].tolist() == [2, 1, 1, 2, 1]


def test_launches_go_to_the_stream_that_torch_is_on(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(tmp_path, STEP, [], ["step"], [])
    backend, gpu = world._backend, world._backend._gpu  # type: ignore[attr-defined]
    own = backend._driver.stream.handle  # type: ignore[attr-defined]

    def streams_of(run: Callable[[], None]) -> set[int]:
        with stand_in.recording() as launches:
            run()
        return {launch.stream for launch in launches}

    assert streams_of(world.step) == {0}
    assert streams_of(lambda: backend.warm_up(world.step)) == {own}
    # a branch, which is captured where it runs
    second = backend._driver.second.handle  # type: ignore[attr-defined]
    assert streams_of(lambda: backend.branch()(world.step)) == {second}
    assert streams_of(lambda: backend.branch()(lambda: backend.warm_up(world.step))) == {second}
    assert streams_of(lambda: backend.branch()(lambda: backend.capture(world.step)())) == {second}
    # a stream that PyCUDA does not know: forked from, and joined again
    joined: list[int] = []
    beside = type(gpu).beside

    def remembered(self: object, stream: int, launch: Callable[[], None]) -> None:
        joined.append(stream)
        beside(self, stream, launch)  # type: ignore[arg-type]

    monkeypatch.setattr(type(gpu), "beside", remembered)
    assert streams_of(lambda: gpu.within(12345, world.step)) == {own}
    assert joined == [own]
    assert world["clock"].tolist() == [9] * 5  # the first reset, six steps, and the resets of two ends
