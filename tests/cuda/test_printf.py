"""printf in kernels: whole lines, with kernel, env and agent, wherever standard output leads."""

from __future__ import annotations

import logging
import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.cuda.kernel_worlds import kernel_world
from tests.toys import HEADER, agents, environment
from warpworld import Array, World
from warpworld.checking.check_backend import CheckBackend
from warpworld.errors import KernelError

pytestmark = pytest.mark.cpu_backend

ARRAYS = [
    *(Array(name, "int32", (1,), per="world", initial=0) for name in ("mode", "length")),
    Array("x", "float32", initial=0.0),
]


def printing_world(num_envs: int = 2, num_agents: int = 3, workers: int = 1, **settings: object) -> World:
    return kernel_world("printing.cu", "step", ARRAYS, num_agents, num_envs, workers, **settings)


def printed(world: World, mode: int, capfd: pytest.CaptureFixture[str], length: int = 0) -> list[str]:
    """The lines of one step."""
    world["mode"], world["length"] = mode, length
    capfd.readouterr()
    world.step()
    text = capfd.readouterr().out
    assert not text or text.endswith("\n")
    return text.splitlines()


@contextmanager
def output_to(descriptor: int | None) -> Iterator[None]:
    """Standard output leads somewhere else meanwhile; nowhere with None."""
    before = os.dup(1)
    if descriptor is None:
        os.close(1)
    else:
        os.dup2(descriptor, 1)
    try:
        yield
    finally:
        os.dup2(before, 1)
        os.close(before)


def test_a_line_tells_who_printed_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert printed(printing_world(), 1, capfd) == [
        "[step, env 0, agent 2] x = 1.000000",
        "[step, env 1, agent 2] x = 2.500000",
    ]
    assert printed(printing_world(num_envs=1, first_env=7), 1, capfd) == ["[step, env 7, agent 2] x = 1.000000"]


def test_a_world_of_single_agents_prints_too(capfd: pytest.CaptureFixture[str]) -> None:
    assert printed(printing_world(num_agents=1), 6, capfd)[5] == f"[step, env 1, agent 0] {0:030d}"


def test_values_look_as_they_do_in_c(capfd: pytest.CaptureFixture[str]) -> None:
    first, second = printed(printing_world(), 2, capfd)
    assert first == "[step, env 0, agent 0] text| 1.25|-9000000000|c|%|7  |ff|1.000000e-09"
    assert second == "[step, env 0, agent 0] no arguments"


def test_calls_without_a_newline_continue_their_agents_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert printed(printing_world(num_envs=1), 3, capfd) == [
        "[step, env 0, agent 0] 0 1 2 ",
        "[step, env 0, agent 1] 0 1 2 ",
        "[step, env 0, agent 1] next",
        "[step, env 0, agent 2] 0 1 2 ",
    ]


def test_another_agents_turn_ends_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    lines = printed(printing_world(num_envs=1, num_agents=2), 4, capfd)
    assert lines == [f"[step, env 0, agent {agent}] {word}" for word in ("before ", "after") for agent in (0, 1)]


def test_each_line_of_a_text_is_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    lines = printed(printing_world(), 7, capfd)
    assert lines == [f"[step, env 0, agent 0] {line}" for line in ("first", "", "third", "fou")]


@pytest.mark.parametrize("length", [100, 5000, 3_000_000])
def test_long_lines_are_not_cut(length: int, capfd: pytest.CaptureFixture[str]) -> None:
    assert printed(printing_world(), 5, capfd, length) == ["[step, env 0, agent 0] " + f"{1:0{length}d} end"]


def test_lines_of_several_workers_are_whole(capfd: pytest.CaptureFixture[str]) -> None:
    world = printing_world(num_envs=500, num_agents=4, workers=2)
    expected = sorted(
        f"[step, env {env}, agent {agent}] {line:030d}" for env in range(500) for agent in range(4) for line in range(5)
    )
    for _ in range(5):
        assert sorted(printed(world, 6, capfd)) == expected


@pytest.mark.parametrize("backend", ["plain", "packed", "check"])
def test_every_build_tells_who_printed(backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    settings = {"packed": {"envs_per_warp": 2}, "check": {"backend": CheckBackend()}}
    world = printing_world(num_envs=3, **settings.get(backend, {}))
    expected = [f"[step, env {env}, agent 2] x = {(3 * env + 2) / 2:f}" for env in range(3)]
    assert printed(world, 1, capfd) == expected


def test_a_thread_that_should_keep_still_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "unguarded.cu"
    source.write_text(HEADER + 'extern "C" __global__ void step() { printf("here\\n"); }\n')
    declared = environment(source, groups=[agents(11)], resets=())
    world = World(declared, 1, device="cpu", num_workers=1, envs_per_warp=2)
    world.reset()
    world.step()
    lines = capfd.readouterr().out.splitlines()
    assert lines[:11] == [f"[step, env 0, agent {agent}] here" for agent in range(11)]
    assert len(lines) == 32
    assert all(", inactive] here" in line for line in lines[11:])


def test_what_was_printed_before_a_fault_is_seen(capfd: pytest.CaptureFixture[str]) -> None:
    world = printing_world(num_envs=1)
    world["mode"] = 8
    with pytest.raises(KernelError, match="agent 1: invalid memory access"):
        world.step()
    expected = [f"[step, env 0, agent {agent}] about to fail" for agent in (0, 1)]
    assert capfd.readouterr().out.splitlines() == expected
    assert len(printed(world, 6, capfd)) == 15


def test_a_bad_string_is_a_fault_of_the_kernel(capfd: pytest.CaptureFixture[str]) -> None:
    world = printing_world(num_envs=1)
    world["mode"], world["length"] = 9, 64
    with pytest.raises(KernelError, match="agent 0: invalid memory access"):
        world.step()
    assert len(printed(world, 6, capfd)) == 15


@pytest.mark.long
def test_an_endless_loop_that_prints_is_ended(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WARPWORLD_KERNEL_TIMEOUT", "0.2")
    world = printing_world(num_envs=1, num_agents=1)
    world["mode"] = 10
    with pytest.raises(KernelError, match=r"no progress within 0\.2 s"):
        world.step()
    lines = capfd.readouterr().out.splitlines()
    assert set(lines) == {"[step, env 0, agent 0] again"}
    assert len(printed(world, 6, capfd)) == 5


@pytest.mark.long
def test_a_slow_reader_is_no_endless_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWORLD_KERNEL_TIMEOUT", "0.2")
    world = printing_world(num_envs=1, num_agents=1)
    world["mode"], world["length"] = 5, 1_000_000  # more than a pipe holds
    reading, writing = os.pipe()
    got: list[int] = []

    def read_late() -> None:
        threading.Event().wait(1.0)
        while chunk := os.read(reading, 1 << 16):
            got.append(len(chunk))

    reader = threading.Thread(target=read_late)
    reader.start()
    try:
        with output_to(writing):
            world.step()
    finally:
        os.close(writing)
        reader.join()
    assert sum(got) == len("[step, env 0, agent 0] ") + 1_000_000 + len(" end\n")


def test_standard_output_may_be_a_file(tmp_path: Path) -> None:
    world = printing_world(num_envs=40, workers=2)
    world["mode"] = 6
    with open(tmp_path / "out", "wb") as file, output_to(file.fileno()):
        for _ in range(3):
            world.step()
    lines = (tmp_path / "out").read_text().splitlines()
    assert len(lines) == 40 * 3 * 5 * 3
    assert all(re.fullmatch(r"\[step, env \d+, agent [012]\] 0{29}[0-4]", line) for line in lines)


@pytest.mark.parametrize("pipe", [True, False])
def test_a_closed_output_costs_the_lines_only(pipe: bool, capfd: pytest.CaptureFixture[str]) -> None:
    world = printing_world(num_envs=40, workers=2)
    world["mode"] = 6
    reading, writing = os.pipe()
    os.close(reading)
    with output_to(writing if pipe else None):
        world.step()
    os.close(writing)
    assert (world["x"] == torch.arange(120.0).reshape(40, 3)).all()
    assert len(printed(world, 6, capfd)) == 40 * 3 * 5


def test_printing_changes_no_result(capfd: pytest.CaptureFixture[str]) -> None:
    quiet, loud = printing_world(), printing_world()
    assert printed(quiet, 0, capfd) == []
    assert len(printed(loud, 6, capfd)) == 30
    np.testing.assert_array_equal(quiet.data.numpy("x"), loud.data.numpy("x"))


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_wrong_format_is_warned_of(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    monkeypatch.setenv("CXX", compiler)
    monkeypatch.setenv("WARPWORLD_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "wrong.cu"
    source.write_text(HEADER + 'extern "C" __global__ void step() {\n  printf("%d\\n", 1.5);\n}\n')
    with caplog.at_level(logging.WARNING, "warpworld"):
        World(environment(source, resets=()), 1, device="cpu")
    (message,) = (record.getMessage() for record in caplog.records)
    assert message.startswith(f"{source}:3:")
    assert "warning: format" in message
