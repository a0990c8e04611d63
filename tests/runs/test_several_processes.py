"""Runs of several processes: what they leave, how they go on, and how they end when one of them does."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.runs.processes import (
    ITERATIONS,
    SMALL,
    appeared,
    differences,
    finish,
    finish_group,
    last_state,
    run_folder,
    said,
    start_group,
)
from warpworld.errors import DeviceError, ProcessError
from warpworld.runs import Run
from warpworld.trainers.processes import membership
from warpworld.trainers.processes.membership import Launch

LONG = (*SMALL, "trainer.total_env_steps=12_800_000", "saving.checkpoint_every=20")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two processes that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    assert finish_group(folder, 2, "train", *SMALL) == [0, 0], said(folder)
    return run_folder(folder)


# --- what a run leaves ------------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.long
def test_one_process_writes_and_speaks(whole: Path) -> None:
    run, folder = Run.open(whole), whole.parent.parent
    assert run.checkpoints() == list(range(ITERATIONS + 1))
    assert run.metrics_path.read_bytes().count(b"\n") == ITERATIONS
    assert run.curve_path.is_file()
    assert '"processes": 2' in (whole / "machine.json").read_text()
    out = (folder / "out0").read_text()
    assert "training tag_gridworld with 8 envs" in out
    assert "1,280 in 0:00" in out  # env steps of both
    assert (folder / "out1").read_text() == (folder / "err1").read_text() == ""


@pytest.mark.heavy
@pytest.mark.long
def test_a_run_is_resumed_bit_for_bit(tmp_path: Path, whole: Path) -> None:
    assert finish_group(tmp_path, 2, "train", *SMALL, "--stop-at", "640") == [0, 0]
    half = run_folder(tmp_path)
    assert Run.open(half).checkpoints() == list(range(ITERATIONS // 2 + 1))
    assert finish_group(tmp_path, 2, "train", "--resume", str(half)) == [0, 0], said(tmp_path)
    assert differences(last_state(whole), last_state(half)) == []
    assert (half / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()


@pytest.mark.heavy
@pytest.mark.parametrize(("first", "then"), [(2, 1), pytest.param(1, 3, marks=pytest.mark.slow)])
@pytest.mark.long
def test_a_run_is_resumed_by_another_number_of_processes(tmp_path: Path, whole: Path, first: int, then: int) -> None:
    trains = {1: lambda *words: [finish(tmp_path, *words)]}
    for number in (2, 3):
        trains[number] = lambda *words, number=number: finish_group(tmp_path, number, *words)
    assert set(trains[first]("train", *SMALL, "--stop-at", "640")) == {0}
    half = run_folder(tmp_path)
    assert set(trains[then]("train", "--resume", str(half))) == {0}, said(tmp_path)
    expected, found = last_state(whole), last_state(half)
    assert found["iteration"] == ITERATIONS
    assert found["layout"] == expected["layout"]
    assert torch.equal(found["store"], expected["store"])  # the same trajectory, in every bit
    for name, policy in expected["policies"].items():
        for key, weight in policy.items():
            torch.testing.assert_close(found["policies"][name][key], weight, rtol=1e-4, atol=1e-5)


# --- how it ends ------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("victim", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.long
def test_a_killed_process_ends_the_others(tmp_path: Path, victim: int) -> None:
    processes = start_group(tmp_path, 2, "train", *LONG)
    appeared(tmp_path, "runs/*/checkpoints/iteration_000020.pt", processes[0])
    processes[victim].kill()
    other = processes[1 - victim]
    other.join(60)
    assert other.exitcode == 2
    lines = [line for line in said(tmp_path) if line]
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: another process of this run ended or cannot be reached any more")
    assert finish(tmp_path, "train", "--resume", str(run_folder(tmp_path)), "--stop-at", "1") == 0


def broken(folder: Path) -> str:
    """A config whose rewards are no numbers some day, in one process before the other."""
    config = folder / "broken.yaml"
    config.write_text(
        "name: tests.trainers.scattered:Scattered\nenv: {broken: 0.01}\n"
        "trainer: {device: cpu, num_envs: 4, num_steps: 8, total_env_steps: 3200}\n"
        "policy: {all: {groups: [left, right]}}\nsaving: {checkpoint_every: 1}\n"
    )
    return str(config)


@pytest.mark.long
def test_an_error_in_one_process_ends_all_in_one_line(tmp_path: Path) -> None:
    assert finish_group(tmp_path, 2, "train", broken(tmp_path)) == [2, 2]
    lines = [line for line in said(tmp_path) if line]
    assert len(lines) == 1, lines
    assert "error: Scattered: rewards of env" in lines[0]
    assert last_state(run_folder(tmp_path))["iteration"] >= 1


@pytest.mark.heavy
@pytest.mark.long
def test_after_an_error_nobody_waits_for_a_device(tmp_path: Path) -> None:
    script = Path(__file__).with_name("waiting_teardown.py")
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    processes = []
    for rank in range(2):
        environment = {**os.environ, **common, "PYTHONPATH": path, "RANK": str(rank)}
        with (tmp_path / f"err{rank}").open("w") as err:
            command = [sys.executable, str(script), "train", broken(tmp_path)]
            processes.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=err, stderr=err))
    # a process that waits for the device is ended by SIGALRM, with another status
    assert [process.wait(200) for process in processes] == [2, 2], said(tmp_path)
    lines = [line for line in said(tmp_path) if line.startswith("error: ")]
    assert len(lines) == 1, said(tmp_path)
    assert "error: Scattered: rewards of env" in lines[0]


@pytest.mark.parametrize(
    ("error", "status"),
    [(DeviceError("x"), 2), (ValueError("x"), 2), (KeyboardInterrupt(), 130), (SystemExit(143), 143)],
)
def test_what_a_process_ends_with(error: BaseException, status: int) -> None:
    assert membership._status(error) == status


def test_a_process_with_a_device_ends_in_under_a_minute() -> None:
    assert membership.DEVICE_FAREWELL_SECONDS < membership.LAST_SECONDS < 60
    # the others have ended by then
    assert membership.DEVICE_FAREWELL_SECONDS > membership.FAILED_BEATS * membership.BEAT_SECONDS


@pytest.mark.heavy
@pytest.mark.long
def test_a_signal_to_one_process_ends_all_with_a_checkpoint(tmp_path: Path) -> None:
    processes = start_group(tmp_path, 2, "train", *LONG)
    appeared(tmp_path, "runs/*/checkpoints/iteration_000020.pt", processes[0])
    assert processes[1].pid is not None
    os.kill(processes[1].pid, signal.SIGTERM)
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 128 + signal.SIGTERM]
    run = Run.open(run_folder(tmp_path))
    assert run.load_checkpoint()["iteration"] == run.checkpoints()[-1]
    assert "with a checkpoint" in (tmp_path / "out0").read_text()


@pytest.mark.slow
def test_a_process_that_hangs_ends_the_others(tmp_path: Path) -> None:
    processes = start_group(tmp_path, 2, "train", *LONG)
    appeared(tmp_path, "runs/*/checkpoints/iteration_000020.pt", processes[0])
    assert processes[0].pid is not None
    os.kill(processes[0].pid, signal.SIGSTOP)
    try:
        processes[1].join(60)
        assert processes[1].exitcode == 2
        assert "error: process 0" in (tmp_path / "err1").read_text()
    finally:
        processes[0].kill()


@pytest.mark.slow
def test_under_torchrun_a_killed_process_ends_the_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", f"--master_port={free_port()}"]
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    environment["PYTHONPATH"] = str(ROOT)
    with (tmp_path / "err0").open("w") as err:
        torchrun = subprocess.Popen(
            [*command, "-m", "warpworld", "train", *LONG], cwd=tmp_path, env=environment, stdout=err, stderr=err
        )
    while not list(tmp_path.glob("runs/*/checkpoints/iteration_000020.pt")):
        assert torchrun.poll() is None, (tmp_path / "err0").read_text()
        time.sleep(0.01)
    children = Path(f"/proc/{torchrun.pid}/task/{torchrun.pid}/children").read_text().split()
    os.kill(int(children[1]), signal.SIGKILL)
    assert torchrun.wait(120) != 0
    lines = [line for line in said(tmp_path) if line.startswith("error: ")]
    assert len(lines) == 1, said(tmp_path)


# --- mistakes ---------------------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.long
def test_fewer_envs_than_processes(tmp_path: Path) -> None:
    assert finish_group(tmp_path, 3, "train", *SMALL, "trainer.num_envs=2") == [2, 2, 2]
    lines = [line for line in said(tmp_path) if line]
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: trainer.num_envs is 2, expected at least one env for each of the 3 processes")
    assert not (tmp_path / "runs").exists()


@pytest.mark.long
def test_nobody_at_the_address(tmp_path: Path) -> None:
    alone = {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "0", "WARPWORLD_JOIN_TIMEOUT": "1"}
    assert finish_group(tmp_path, 1, "train", *SMALL, **alone) == [2]
    (line,) = said(tmp_path)
    assert line.startswith("error: process 0 cannot be reached at 127.0.0.1:")
    assert "see MASTER_ADDR and MASTER_PORT" in line


@pytest.mark.long
def test_an_address_that_cannot_exist(tmp_path: Path) -> None:
    alone = {"WORLD_SIZE": "2", "RANK": "1", "MASTER_ADDR": "no..where", "WARPWORLD_JOIN_TIMEOUT": "1"}
    assert finish_group(tmp_path, 1, "train", *SMALL, **alone) == [2]
    (line,) = said(tmp_path)
    assert line.startswith("error: process 0 cannot be reached at no..where:")


@pytest.mark.long
def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        alone = {"WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_PORT": str(other.getsockname()[1])}
        assert finish_group(tmp_path, 1, "train", *SMALL, **alone) == [2]
    (line,) = said(tmp_path)
    assert line.startswith("error: process 0 cannot use 127.0.0.1:")
    assert "address already in use" in line


@pytest.mark.long
def test_others_that_never_come(tmp_path: Path) -> None:
    alone = {"WORLD_SIZE": "2", "LOCAL_RANK": "0", "WARPWORLD_JOIN_TIMEOUT": "1"}
    assert finish_group(tmp_path, 1, "train", *SMALL, **alone) == [2]
    (line,) = said(tmp_path)
    assert line.startswith("error: 1 of 2 processes have come to 127.0.0.1:")


def test_a_launcher_that_ends_it_before_it_trains(tmp_path: Path) -> None:
    port = free_port()
    alone = {"WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_PORT": str(port)}
    (process,) = start_group(tmp_path, 1, "train", *SMALL, **alone)
    until = time.monotonic() + 60
    while socket.socket().connect_ex(("127.0.0.1", port)):  # until it waits for the other
        assert time.monotonic() < until
        time.sleep(0.05)
    process.terminate()
    process.join(60)
    assert process.exitcode == 2
    (line,) = said(tmp_path)
    assert line.startswith("error: ended by SIGTERM, which launchers send where another process of the run is gone")


GOOD = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "somewhere", "MASTER_PORT": "29500"}


def test_what_a_launcher_says() -> None:
    assert Launch.from_environment({}) is None
    assert Launch.from_environment({**GOOD, "WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0"}) is None
    launch = Launch.from_environment({**GOOD, "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_USE_AGENT_STORE": "True"})
    assert launch == Launch(1, 4, 1, 2, "somewhere", 29500, served=True)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("RANK", "4", "environment variable RANK is '4', expected a whole number of 0 to 3"),
        ("WORLD_SIZE", "many", "environment variable WORLD_SIZE is 'many', expected a whole number of 1 to"),
        ("LOCAL_RANK", "-1", "environment variable LOCAL_RANK is '-1'"),
        ("MASTER_PORT", "99999", "environment variable MASTER_PORT is '99999', expected a whole number of 1 to 65535"),
        ("MASTER_ADDR", None, "environment variable MASTER_ADDR is not set, though RANK and WORLD_SIZE are; start"),
        ("RANK", None, "environment variable RANK is not set, though WORLD_SIZE is; .* or unset it to train with one"),
        ("WORLD_SIZE", None, "environment variable WORLD_SIZE is not set, though RANK is; start several"),
    ],
)
def test_a_wrong_environment(name: str, value: str | None, words: str) -> None:
    environment = {**GOOD, name: value} if value else {key: GOOD[key] for key in GOOD if key != name}
    with pytest.raises(ProcessError, match=words):
        Launch.from_environment(environment)


def test_more_processes_than_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    launches = [Launch(7, 8, 1, size, "somewhere", 29500, served=True) for size in (2, 4)]
    assert membership._take_device(launches[0], "auto") == "cpu:gloo,cuda:nccl"
    assert membership._take_device(launches[1], "cpu") == "gloo"
    with pytest.raises(DeviceError, match="4 processes on a machine with 2 GPUs, expected at most one for each: torch"):
        membership._take_device(launches[1], "cuda")
    assert taken == [1]


@pytest.mark.parametrize("local_rank", [0, 1, 3])
def test_a_launcher_that_shows_each_process_one_gpu(monkeypatch: pytest.MonkeyPatch, local_rank: int) -> None:
    taken: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    launch = Launch(local_rank, 4, local_rank, 4, "somewhere", 29500, served=True)
    assert membership._take_device(launch, "cuda") == "cpu:gloo,cuda:nccl"
    assert taken == [0]


def test_two_processes_that_take_the_same_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **named: Any) -> None:
        raise torch.distributed.DistBackendError(
            "NCCL error in: NCCLUtils.cpp:1\nLast error:\nDuplicate GPU detected : rank 1 and rank 0"
        )

    monkeypatch.setattr(membership, "_connect", lambda *arguments, **named: torch.distributed.HashStore())
    monkeypatch.setattr(membership, "Heartbeat", lambda *arguments: None)
    monkeypatch.setattr(membership, "rendezvous", lambda *arguments: "start/1")
    monkeypatch.setattr(membership, "_take_device", lambda *arguments: "cpu:gloo,cuda:nccl")
    monkeypatch.setattr(torch.distributed, "init_process_group", refuse)
    member = membership.Membership(Launch(0, 2, 0, 2, "somewhere", 29500, served=True))
    with pytest.raises(
        DeviceError, match=r"^two processes of this run have the same GPU \(Duplicate GPU detected : rank"
    ):
        member.begin("cuda")
