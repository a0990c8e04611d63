"""The recipes for schedulers, run in two processes with the variables that a scheduler sets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import blocks, files, page
from tests.runs.processes import SMALL
from tests.runs.test_several_processes import ROOT, free_port
from warpworld.runs import Run

pytestmark = [pytest.mark.cpu_backend, pytest.mark.slow]

SECONDS = 90
GRACE_SECONDS = 30
LONG = (*SMALL, "trainer.total_env_steps=12_800_000", "saving.checkpoint_every=20", "saving.keep_checkpoints=3")


def started(
    folder: Path, command: Sequence[str], of_ranks: Sequence[dict[str, str]]
) -> list[tuple[subprocess.Popen[bytes], Path]]:
    """A command in a shell for each rank, with ``warpworld`` on the path; each with what it prints."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "warpworld"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m warpworld "$@"\n')
    program.chmod(0o755)
    common = {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    found = []
    for rank, own in enumerate(of_ranks):
        out = folder / f"out{rank}"
        with out.open("w") as file:
            process = subprocess.Popen(
                command, cwd=folder, env={**os.environ, **common, **own}, stdout=file, stderr=subprocess.STDOUT
            )
        found.append((process, out))
    return found


def ended(processes: Sequence[tuple[subprocess.Popen[bytes], Path]], seconds: float) -> list[int]:
    """Their exit statuses; none is left behind."""
    try:
        return [process.wait(seconds) for process, _ in processes]
    finally:
        for process, _ in processes:
            process.kill()


def saved(run: Path, processes: Sequence[tuple[subprocess.Popen[bytes], Path]]) -> None:
    """Wait for a checkpoint."""
    until = time.monotonic() + SECONDS
    while not (run / "checkpoints" / "iteration_000020.pt").exists():
        alive = all(process.poll() is None for process, _ in processes)
        assert alive and time.monotonic() < until, [out.read_text() for _, out in processes]
        time.sleep(0.05)


def test_slurm(tmp_path: Path) -> None:
    ((name, script),) = files(page("several-processes"))
    (tmp_path / name).write_text(script)
    job = blocks(page("several-processes"), "sh")[-1].splitlines()[-1]
    words = job.partition("sh process.sh ")[2].split()
    assert words == ["CONFIG", "--run", "DIR"]
    run = tmp_path / "shared" / "run"
    command = ["sh", name, *LONG, "--run", str(run)]
    common = {"SLURM_NTASKS": "2", "SLURM_NTASKS_PER_NODE": "1", "SLURM_LAUNCH_NODE_IPADDR": "127.0.0.1"}
    ranks = [{**common, "SLURM_PROCID": str(rank), "SLURM_LOCALID": "0"} for rank in range(2)]
    processes = started(tmp_path, command, ranks)
    saved(run, processes)
    for process, _ in processes:
        process.send_signal(signal.SIGTERM)  # Slurm's first word to a job that it preempts
    assert ended(processes, GRACE_SECONDS) == [128 + signal.SIGTERM] * 2
    reached = Run.open(run).checkpoints()[-1]
    assert ended(started(tmp_path, [*command, "--stop-at", "1"], ranks), SECONDS) == [0, 0]  # requeued
    assert f"continuing {run} from {reached * 128:,} of" in (tmp_path / "out0").read_text()


@pytest.mark.exhaustive
def test_kubernetes(tmp_path: Path) -> None:
    (manifest,) = (yaml.safe_load(text) for text in blocks(page("several-processes"), "yaml"))
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    common = {each["name"]: each["value"] for each in container["env"]}
    assert manifest["spec"]["completions"] == manifest["spec"]["parallelism"] == int(common["WORLD_SIZE"]) == 2
    assert (
        common["MASTER_ADDR"] == f"{manifest['metadata']['name']}-0.{manifest['spec']['template']['spec']['subdomain']}"
    )
    common |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    ranks = [{**common, "JOB_COMPLETION_INDEX": str(rank)} for rank in range(2)]
    run = tmp_path / "volume" / "run"
    words = " ".join((*SMALL, "--run", str(run)))
    command = [word.replace("CONFIG --run DIR", words) for word in container["command"]]
    assert ended(started(tmp_path, command, ranks), SECONDS) == [0, 0], (tmp_path / "out0").read_text()
    assert Run.open(run).checkpoints()[-1] == 10
    assert '"processes": 2' in (run / "machine.json").read_text()
