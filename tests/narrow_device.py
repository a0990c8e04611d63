"""A device that only tests know, registered by name: `pytest --device narrow` makes every test's worlds on it.

It offers what the contract in managers/backend.py names and nothing else: whatever the package asks of a backend beyond
the contract fails here. It differs from the cpu backend, which does the work, where a backend may differ: warps of 16
lanes, envs that share them, arrays with room behind them in memory of its own, and programs that are captured.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from typing import Any

import torch

from warpworld.managers.cpu.backend import CpuBackend
from warpworld.managers.data_manager import DataManager
from warpworld.managers.devices import open_backend, register_device
from warpworld.managers.kernel_source import KernelSource
from warpworld.managers.program import Program, Step, WorldConstants

NAME = "narrow"


class NarrowBackend:
    """See the contract, managers/backend.py."""

    name = NAME
    warp_size = 16
    side_by_side = False
    packs_envs = True
    warps_per_block = 1
    padding = 512
    captures = True
    runs_on_host = False

    def __init__(self, num_workers: int | None = None) -> None:
        self._cpu = CpuBackend(num_workers)
        self._cpu.warp_size = self.warp_size
        self.device = self._cpu.device
        self._captured: list[Program] | None = None  # in a capture: the programs that were called

    def describe(self) -> str:
        return f"{self.name} (warps of {self.warp_size} lanes)"

    def allocate(self, nbytes: int) -> torch.Tensor:
        return torch.frombuffer(mmap.mmap(-1, nbytes), dtype=torch.uint8)

    def free_memory(self) -> int | None:
        return None

    def build(self, source: KernelSource) -> Any:
        return self._cpu.build(source)

    def program(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> Program:
        run = self._cpu.program(steps, data, world)

        def call() -> None:
            if self._captured is None:
                run()
            else:
                self._captured.append(run)

        return call

    def one_by_one(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> Any:
        raise AssertionError("only where runs_on_host")

    def random_state(self) -> torch.Tensor:
        return self._cpu.random_state()

    def set_random_state(self, state: torch.Tensor) -> None:
        self._cpu.set_random_state(state)

    def branch(self) -> Callable[[Callable[[], None]], None]:
        return lambda work: work()

    def wait(self) -> None:
        pass

    def warm_up(self, run: Callable[[], None]) -> None:
        run()

    def capture(self, run: Callable[[], None]) -> Callable[[], None]:
        self._captured = programs = []
        try:
            run()
        finally:
            self._captured = None

        def replay() -> None:
            for program in programs:
                program()

        return replay


def use_narrow_device() -> None:
    """Make the worlds of all tests on this device."""
    register_device(NAME, NarrowBackend)
    register_device("cpu", lambda num_workers: open_backend(NAME, num_workers))
