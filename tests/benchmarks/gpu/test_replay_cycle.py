"""The part "replay" compares whole stores, cycle by cycle."""

from __future__ import annotations

import re

import pytest

from benchmarks.gpu import replay_cycle
from benchmarks.gpu.part import Context


def test_a_replay_agrees_with_itself(context: Context) -> None:
    replay_cycle.compare(context)
    assert (context.figures["cycles"], context.figures["different"]) == (3, [])


def test_what_is_drawn_follows_the_priorities() -> None:
    cycle = replay_cycle.Cycle("cpu", num_envs=8)
    cycle()
    leaves = cycle.leaves().flatten()
    chosen = int((leaves > 0).nonzero()[0])
    leaves.mul_(1e-6)
    leaves[chosen] = 1e3
    cycle.add_up()
    before = leaves[chosen].item()
    cycle()
    assert leaves[chosen].item() < before / 10  # drawn, and given an error of about 1


@pytest.mark.parametrize("array", ["timestep", "leaves"])
def test_a_difference_is_named(array: str, context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[replay_cycle.Cycle] = []
    real = replay_cycle.Cycle.__call__

    def disturbed(cycle: replay_cycle.Cycle) -> None:
        real(cycle)
        made.append(cycle)
        if len(made) == 4:  # the second of the second cycle
            (cycle.leaves() if array == "leaves" else cycle.world[array]).add_(1)

    monkeypatch.setattr(replay_cycle.Cycle, "__call__", disturbed)
    replay_cycle.compare(context)
    (said,) = context.findings
    assert re.fullmatch(rf"cycle 2: these arrays differ: \w*{array}\w*", said)
