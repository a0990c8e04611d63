"""Training runs in processes of their own, which may be killed: what test_kills.py and its neighbours share.

Processes come from a server that has loaded torch and warpworld already, so that one starts at once.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import torch

from warpworld.runs.checkpoints import Checkpoints

os.environ["TORCH_CPP_LOG_LEVEL"] = "FATAL"  # read when torch is loaded; `warpworld train` sets it in good time
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "warpworld.cli.main",
        "warpworld.trainers.evaluate",
        "torch._dynamo",  # which torch's optimisers load
        "warpworld.trainers.trainer",
        "matplotlib.backends.backend_agg",
        "tensorboardX.proto.summary_pb2",
    ]
)

# Two policies, one of them frozen; episodes go on from one rollout to the next; a checkpoint an iteration.
SMALL = (
    "tag_gridworld",
    "trainer.device=cpu",
    "trainer.num_envs=8",
    "trainer.num_steps=16",
    "trainer.total_env_steps=1280",
    "policy.tagger.num_minibatches=2",
    "policy.runner.num_minibatches=2",
    "policy.tagger.update_epochs=1",
    "policy.runner.update_epochs=1",
    "saving.checkpoint_every=1",
)
ITERATIONS = 10
SECONDS = 120  # after which processes that have not ended are ended


def _main(words: Sequence[str], folder: str, environment: Mapping[str, str], suffix: str) -> None:
    from warpworld.cli.main import main

    os.chdir(folder)
    os.environ.update(environment)
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{name}{suffix}", os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)
    sys.exit(main(words))


def start(folder: Path, *words: str) -> ForkServerProcess:
    """Run ``warpworld`` with ``words`` in ``folder``; what it prints goes to the files ``out`` and ``err`` there."""
    folder.mkdir(exist_ok=True)
    process = _SERVER.Process(target=_main, args=(words, str(folder), {}, ""))
    process.start()
    return process


def start_group(folder: Path, size: int, *words: str, **environment: str) -> list[ForkServerProcess]:
    """Run it in ``size`` processes that know each other; what they print goes to ``out0``, ``err0``, ``out1`` ..."""
    folder.mkdir(exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        common = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    processes = []
    for rank in range(size):
        own = {**common, "RANK": str(rank), **environment}
        # daemons: Python ends them with the tests where one hangs
        processes.append(_SERVER.Process(target=_main, args=(words, str(folder), own, str(rank)), daemon=True))
        processes[-1].start()
    return processes


def finish_group(folder: Path, size: int, *words: str, **environment: str) -> list[int]:
    """Run it to its end; the exit statuses, in the order of ranks."""
    processes = start_group(folder, size, *words, **environment)
    return ended(processes)


def ended(processes: Sequence[ForkServerProcess]) -> list[int]:
    """Wait for processes, which are ended where they take too long; their exit statuses, in their order."""
    try:
        for process in processes:
            process.join(SECONDS)
        assert None not in [process.exitcode for process in processes], "it did not end"
        return [process.exitcode or 0 for process in processes]
    finally:
        for process in processes:
            process.kill()  # Python would wait for it in the end


def said(folder: Path, what: str = "err") -> list[str]:
    """Lines that the processes of a group wrote, together; not that a kernel takes long to compile, as some may."""
    lines = [line for path in sorted(folder.glob(f"{what}[0-9]")) for line in path.read_text().splitlines()]
    return [line for line in lines if not line.startswith("compiling kernels;")]


def finish(folder: Path, *words: str) -> int:
    """Run ``warpworld`` to its end; its exit status."""
    return ended([start(folder, *words)])[0]


def appeared(folder: Path, pattern: str, process: ForkServerProcess) -> Path:
    """Wait until something that ``pattern`` names is in ``folder``."""
    until = time.monotonic() + 60
    while not (found := sorted(folder.glob(pattern))):
        assert process.is_alive(), f"it ended early: {(folder / 'err').read_text()}"
        assert time.monotonic() < until, f"no {pattern} in {folder}"
        time.sleep(0.001)
    return found[0]


def run_folder(folder: Path) -> Path:
    """The only run in ``folder``."""
    (path,) = (folder / "runs").glob("[!.]*")
    return path


def last_state(path: Path) -> dict[str, Any]:
    """What the last checkpoint of a run holds, without the time that it took."""
    state = Checkpoints(path / "checkpoints").load()
    return {name: value for name, value in state.items() if name != "seconds"}


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Places at which two states differ in any bit."""
    if isinstance(one, dict):
        assert isinstance(other, dict)
        keys = one.keys() | other.keys()
        return [d for key in sorted(keys, key=str) for d in differences(one.get(key), other.get(key), f"{where}.{key}")]
    if isinstance(one, torch.Tensor):
        same = isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(_bits(one), _bits(other))
        return [] if same else [where]
    return [] if one == other and type(one) is type(other) else [where]


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().flatten().view(torch.uint8) if tensor.dim() else tensor.reshape(1).view(torch.uint8)
