"""docs/replay.md: its example is what a replay draws, and what it says of memory is what a run reports."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from torch import Tensor

from tests.docs.pages import blocks, page
from tests.trainers.small_worlds import constant, space
from warpworld.config import load_config
from warpworld.environment import Environment, Group
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.replay import ReplaySizes, TransitionReplay
from warpworld.trainers.trainer import Trainer
from warpworld.world import World

pytestmark = pytest.mark.cpu_backend

FINAL, ROWS = 100, 16  # what is seen is the number of the step; in a final observation 100 more


class Example(Environment):
    """The page's env: rewards are powers of two."""

    def groups(self) -> Sequence[Group]:
        from gymnasium.spaces import Discrete

        return [Group("agent", 1, space(1), Discrete(2))]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def _step(self, arrays: Any, active: Tensor) -> None:
        step = arrays["observations"][:, 0, 0]
        arrays["rewards"] = (constant((2.0,), step.device) ** step)[:, None]
        arrays["truncated"], arrays["terminated"] = step == 3, step == 5
        ends = (step == 3) | (step == 5)
        arrays["observations"] = (step + 1 + FINAL * ends)[:, None, None]

    def _reset(self, arrays: Any, active: Tensor) -> None:
        seen = arrays["observations"]
        arrays["observations"] = seen - FINAL * (seen > FINAL)


def drawn(finals: bool) -> dict[int, str]:
    """What is drawn of each step, as the page writes it."""
    world = World(Example(), 1)
    collector = Collector(world, 1)
    sizes = ReplaySizes(ROWS, 64, n_step=3, gamma=0.5, final_observations=finals)
    replay = TransitionReplay(collector, ["agent"], sizes)
    replay.act("agent")
    world.reset()
    for _ in range(10):
        collector.collect()
    batch, found = replay.draw(), {}
    for seen, total, discount, following in zip(
        *(batch.observations, batch.returns, batch.discounts, batch.next_observations), strict=True
    ):
        step, after = int(seen), int(following)
        what = f"final of {after - FINAL - 1}" if after > FINAL else f"step {after}"
        found[step] = f"{float(total):g}, {float(discount):g}, {what if discount else 'nothing'}"
    return found


def test_the_example_is_what_is_drawn() -> None:
    example = page("replay").split("## What is drawn")[0]
    lines = [line for line in example.splitlines() if line[:4] in {f"| {step} " for step in range(7)}]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(cells) == 7
    plain, kept = drawn(finals=False), drawn(finals=True)
    for number, reward, _, without, with_finals in cells:
        step = int(number)
        assert float(reward) == 2**step
        assert plain.get(step, "not drawn") == without
        assert kept.get(step, "not drawn") == with_finals


def test_what_a_run_reports(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    Trainer(load_config("cartpole_dqn"))
    (shown,) = blocks(page("replay"), "text")
    assert shown.strip() in [record.getMessage() for record in caplog.records]
