"""Functions run in several processes at once, which know each other through gloo."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from warpworld.config import RunConfig
from warpworld.trainers.processes.distributed import ALONE, ProcessGroup
from warpworld.trainers.trainer import Trainer

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["warpworld.trainers.trainer", "torch._dynamo"])
SECONDS = 120  # after which processes that have not ended are ended


class Unwritten:
    """A run that keeps in memory what it receives, and nothing of replays and opponents."""

    past_folder = opponents_folder = None

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.states: dict[int, Mapping[str, Any]] = {}
        self.best: list[Mapping[str, Any]] = []

    def log(self, metrics: Mapping[str, Any]) -> None:
        self.lines.append(dict(metrics))

    def save_checkpoint(self, iteration: int, state: Mapping[str, Any]) -> None:
        self.states[iteration] = state

    def save_best(self, state: Mapping[str, Any]) -> None:
        self.best.append(state)

    def save_ending(self, why: str) -> None:
        self.ending = why

    def save_opponents(self, files: Mapping[str, bytes]) -> None:
        """What opponents' files hold stays in memory."""

    def checkpoints(self) -> list[int]:
        return list(self.states)

    def keep_past(self, files: set[str]) -> None:
        assert not files


def together(size: int, folder: Path, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What ``function(group, *arguments)`` returns in each of ``size`` processes, in the order of ranks."""
    folder.mkdir(exist_ok=True)
    processes = [_SERVER.Process(target=_main, args=(rank, size, folder, function, arguments)) for rank in range(size)]
    for process in processes:
        process.start()
    try:
        for process in processes:
            process.join(SECONDS)
        assert [process.exitcode for process in processes] == [0] * size
    finally:
        for process in processes:
            process.kill()  # Python would wait for it in the end
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(size)]


def _main(rank: int, size: int, folder: Path, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder / 'store'}", rank=rank, world_size=size)
    torch.save(function(ProcessGroup(rank, size, rank, size), *arguments), folder / f"{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


def trained(group: ProcessGroup, configs: Mapping[str, RunConfig]) -> dict[str, Any]:
    """Train by each config; the lines of metrics and the last weights, as every process has them."""
    found = {}
    for name, config in configs.items():
        trainer, run = Trainer(config, processes=group), Unwritten()
        trainer.train(run)  # type: ignore[arg-type]
        found[name] = {"lines": run.lines, "weights": weights(trainer), "state": trainer.state_dict()}
    return found


def alone(config: RunConfig) -> dict[str, Any]:
    """The same of one process, this one."""
    return trained(ALONE, {"": config})[""]


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    """All policies' weights and moments by name, copied."""
    policies = {name: policy for name, policy in trainer.policies.items() if policy is not None}
    return {
        f"{name}.{key}": value.clone()
        for name, policy in policies.items()
        for key, value in policy.state_dict().items()
    }
