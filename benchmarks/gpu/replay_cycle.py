"""A replay on cuda against the same on cpu: rows are inserted, transitions drawn, and priorities set and added up."""

from __future__ import annotations

import torch

import warpworld
from warpworld import World
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.replay import ReplaySizes, TransitionReplay

from .compare import TOLERANCE
from .part import Context

NAME = "minatar_breakout"  # calls no libm function, and its episodes end
NUM_ENVS, ROWS, BATCH, CYCLES = 64, 40, 256, 20
ALPHA, BETA, SEED = 0.6, 0.4, 11


class Cycle:
    """A world whose first group acts at random, and a prioritized replay that overwrites its oldest rows.

    Args:
        device: "cuda" or "cpu".
        num_envs: envs, each of which fills a column of every row.
    """

    def __init__(self, device: str, num_envs: int) -> None:
        self.world: World = warpworld.make(NAME, num_envs, device=device, seed=SEED)
        self._collector = Collector(self.world, num_steps=1)
        (group,) = self.world.groups
        sizes = ReplaySizes(ROWS, BATCH, n_step=3, alpha=ALPHA, final_observations=True)
        self._replay = TransitionReplay(self._collector, [group], sizes)
        self._replay.act(group)
        self._errors = torch.Generator().manual_seed(SEED)
        self.world.reset()
        for _ in range(ROWS + sizes.n_step):
            self._collector.collect()

    def leaves(self) -> torch.Tensor:
        """The priorities of all transitions."""
        return self._replay.array("leaves")

    def add_up(self) -> None:
        """Make the sums those of the leaves."""
        self._replay.priorities.add_up_all()

    def __call__(self) -> None:
        """Insert a row, draw a batch, and give what was drawn new priorities."""
        self._collector.collect()
        self._replay.draw(BETA)
        errors = torch.rand(BATCH, generator=self._errors) + 0.01
        self._replay.update(errors.to(self.world.device))


def compare(context: Context) -> None:
    """The whole store after each cycle: whole numbers are equal, floats within the tolerance."""
    num_envs, cycles = context.size(NUM_ENVS, 8), context.size(CYCLES, 3)
    expected, found = Cycle("cpu", num_envs), Cycle(context.device, num_envs)
    for number in context.in_time(range(1, cycles + 1), "cycle {}".format):
        expected()
        found()
        different = [name for name in expected.world.data if not _agree(expected.world[name], found.world[name])]
        context.report(num_envs=num_envs, num_rows=ROWS, batch_size=BATCH, cycles=number, different=different)
        if different:
            context.wrong(f"cycle {number}: these arrays differ: {', '.join(different)}")
            break  # later cycles follow from it
    context.holds(f"{cycles} cycles of {BATCH} transitions agree, drawn by priority from {ROWS} rows")


def _agree(expected: torch.Tensor, found: torch.Tensor) -> bool:
    on_host = found.to("cpu")
    if expected.is_floating_point():
        return torch.allclose(on_host, expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    return torch.equal(on_host, expected)
