"""A backend that runs no kernel: it notes what a GPU would be asked for, with the store in the host's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from warpworld.cli.profile.launch_nodes import node_of
from warpworld.cli.profile.nodes import NodeLog
from warpworld.managers import DataManager, KernelSource, Program, RunKernel, Step, WorldConstants
from warpworld.managers.cpu import CpuBackend
from warpworld.managers.cuda.launches import launches_of
from warpworld.managers.devices import device_for_now


class Unbuilt:
    """A source that is not compiled: its kernels are their names."""

    def __init__(self, source: KernelSource | None) -> None:
        self.source = source
        self.functions = {each.name: each.name for each in source.signatures} if source else {"idle": "idle"}


class PlannedBackend(CpuBackend):
    """Work that a GPU would do: kernels are noted, and torch works on the host.

    Attributes:
        once: names of arrays that a step reads or writes, not both.

    Args:
        log: takes the nodes.
        num_workers: as of ``CpuBackend``.
    """

    name = "forecast"
    side_by_side = True
    packs_envs = True
    warps_per_block = 4
    captures = True
    runs_on_host = False

    def __init__(self, log: NodeLog, num_workers: int | None = None) -> None:
        super().__init__(num_workers)
        self._log = log
        self.once: set[str] = set()

    def build(self, source: KernelSource) -> Unbuilt:  # type: ignore[override]
        """Keep a source; nothing compiles it."""
        return Unbuilt(source)

    def program(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> Program:
        """Freeze steps as the launches that a GPU would get; each call notes them."""
        idle = RunKernel(Unbuilt(None), "idle", (), threads=self.warp_size, envs_per_block=1, index=0)
        launches = launches_of(steps, data, world, lambda: idle)
        nodes = [partial(node_of, launch, data, world.num_envs, self.once) for launch in launches]

        def run() -> None:
            for node in nodes:
                self._log.note(node)

        return run

    def warm_up(self, run: Callable[[], None]) -> None:
        """Carry ``run`` out."""
        run()

    def capture(self, run: Callable[[], None]) -> Callable[[], None]:
        """A function that does what ``run`` does, as a graph."""

        def replay() -> None:
            with self._log.in_graph():
                run()

        return replay


@contextmanager
def planned(log: NodeLog) -> Iterator[list[PlannedBackend]]:
    """Let worlds be planned meanwhile, on the device of this name; gives their backends."""
    backends: list[PlannedBackend] = []

    def load(workers: int | None) -> PlannedBackend:
        backends.append(PlannedBackend(log, workers))
        return backends[-1]

    with device_for_now(PlannedBackend.name, load):
        yield backends
