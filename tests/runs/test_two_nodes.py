"""Two torchrun agents that train one run, each in a folder of its own, as on two machines of a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.runs.processes import SMALL, finish
from tests.runs.test_several_processes import ROOT, free_port
from warpworld.runs import Run

pytestmark = [pytest.mark.cpu_backend, pytest.mark.slow]

SECONDS = 90  # for anything that is waited for
GRACE_SECONDS = 30  # what clusters give between SIGTERM and SIGKILL
# A minute and more on any machine, unless it is ended.
LONG = (*SMALL, "trainer.total_env_steps=12_800_000", "saving.checkpoint_every=20", "saving.keep_checkpoints=3")
QUICK = "join_timeout=60,last_call_timeout=3,keep_alive_interval=1,keep_alive_max_attempt=3"


class Node:
    """A torchrun agent with one process; what both print goes to the file ``out`` in its folder."""

    def __init__(self, folder: Path, port: int, nodes: str, run: Path, is_host: bool) -> None:
        folder.mkdir()
        self.folder = folder
        conf = f"{QUICK},is_host={is_host}"  # on one machine the address does not show which
        words = [f"--nnodes={nodes}", "--nproc_per_node=1", "--max-restarts=3", "--local-addr=127.0.0.1"]
        words += ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=1", f"--rdzv-conf={conf}"]
        command = [sys.executable, "-m", "torch.distributed.run", *words, "-m", "--", "warpworld", "train", *LONG]
        environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
        with (folder / "out").open("w") as out:
            self.agent = subprocess.Popen(
                [*command, "--run", str(run)],
                cwd=folder,
                env={**environment, "PYTHONPATH": str(ROOT)},
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def worker(self) -> int:
        """Its process at the moment."""
        children = Path(f"/proc/{self.agent.pid}/task/{self.agent.pid}/children").read_text().split()
        return int(children[-1])

    def kill(self) -> None:
        """The machine is gone: agent and process at once."""
        for path in Path(f"/proc/{self.agent.pid}/task/{self.agent.pid}/children").read_text().split():
            os.kill(int(path), signal.SIGKILL)
        self.agent.kill()

    @property
    def output(self) -> str:
        return (self.folder / "out").read_text()


@contextmanager
def nodes(tmp_path: Path, count: str) -> Iterator[list[Node]]:
    """Two of them; nothing of them is left behind."""
    port = free_port()
    hosts = {"first": True, "second": False}
    started = [Node(tmp_path / name, port, count, tmp_path / "run", is_host) for name, is_host in hosts.items()]
    try:
        yield started
    finally:
        for node in started:
            if node.agent.poll() is None:
                node.kill()
            node.agent.wait(SECONDS)


def until(what: Callable[[], bool], started: list[Node]) -> None:
    """Wait for something, as long as it may take."""
    ends = time.monotonic() + SECONDS
    while not what():
        alive = any(node.agent.poll() is None for node in started)
        assert alive and time.monotonic() < ends, "\n".join(node.output for node in started)
        time.sleep(0.05)


def sessions(run: Path) -> list[int]:
    """How many processes each session of a run had."""
    path = run / "machine.json"
    return [session["processes"] for session in json.loads(path.read_text())] if path.exists() else []


def newest(run: Path) -> int:
    return max((int(path.stem.rpartition("_")[2]) for path in run.glob("checkpoints/iteration_*.pt")), default=0)


@pytest.mark.exhaustive
def test_a_killed_process_is_restarted_and_sigterm_leaves_a_checkpoint(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with nodes(tmp_path, "2") as started:
        until(lambda: newest(run) >= 20, started)
        os.kill(started[1].worker(), signal.SIGKILL)
        until(lambda: sessions(run) == [2, 2], started)
        reached = newest(run)
        until(lambda: newest(run) > reached, started)
        for node in started:
            node.agent.terminate()
        for node in started:
            node.agent.wait(GRACE_SECONDS)
    assert "continuing" in started[0].output + started[1].output
    assert "ended by SIGTERM after" in started[0].output + started[1].output
    opened = Run.open(run)
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    assert opened.load_checkpoint()["iteration"] == opened.checkpoints()[-1] >= last["iteration"]
    assert finish(tmp_path, "train", *LONG, "--run", str(run), "--stop-at", "1") == 0  # as a requeued job


@pytest.mark.exhaustive
def test_a_node_that_is_gone_leaves_the_run_to_the_other(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with nodes(tmp_path, "1:2") as started:
        until(lambda: newest(run) >= 20 and sessions(run)[-1] == 2, started)
        started[1].kill()
        until(lambda: sessions(run)[-1] == 1, started)
        reached = newest(run)
        until(lambda: newest(run) > reached, started)
        started[0].agent.terminate()
        started[0].agent.wait(GRACE_SECONDS)
    assert "continuing" in started[0].output
