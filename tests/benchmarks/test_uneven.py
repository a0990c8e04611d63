"""The table of envs of uneven cost."""

from __future__ import annotations

import pytest

from benchmarks import uneven
from warpworld import World

NAMES = "1 to 100 us", "1 to 100 us, rarely 10 ms", "cartpole"

pytestmark = pytest.mark.cpu_backend


@pytest.mark.long
def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    uneven.main(["--envs", "8", "--rounds", "1", "--width", "8"])
    rows = [row.partition("  ")[0] for row in capsys.readouterr().out.splitlines()[1:]]
    orders = ["all at once", *(f"{batches} batches, {order}" for batches in (2, 4) for order in ("sent", "ready"))]
    assert rows[:15] == [f"{name}: {order}" for name in NAMES for order in orders]
    assert all(row.startswith("EnvPool's ") for row in rows[15:])


def test_costs_are_what_was_asked_for() -> None:
    turns = uneven.turns_per_microsecond()
    seconds = []
    for cost in (20.0, 200.0):
        envs = uneven.Uneven(least=cost, most=cost, turns_per_microsecond=turns)
        with World(envs, 5, "cpu", num_workers=1) as world:
            world.reset()
            seconds.append(min(uneven.clocked(world.step) for _ in range(50)))
    assert 7 < seconds[1] / seconds[0] < 13
    assert 0.5 < seconds[0] / (5 * 20e-6) < 2
