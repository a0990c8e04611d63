"""What a replay refuses to learn from."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from tests.trainers.replay.filled import Filled
from tests.trainers.small_worlds import Clockwork
from warpworld.errors import DeclarationError, TrainingError
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.replay import ReplaySizes, TransitionReplay
from warpworld.world import World


def clockwork(most_truncations: int) -> Collector:
    """Episodes of 4 steps, in a ring of 16 rows that keeps final observations."""
    world = World(Clockwork(episode_length=4, most_truncations=most_truncations), 2)
    collector = Collector(world, 2)
    replay = TransitionReplay(collector, ["left"], ReplaySizes(rows=16, batch_size=8, final_observations=True))
    replay.act("left")
    collector.act("right")
    world.reset()
    return collector


def test_more_truncations_than_declared() -> None:
    collector = clockwork(3)
    for _ in range(7):  # the fourth truncation is in the last of 16 steps
        collector.collect()
        collector.check_finite()
    collector.collect()
    expected = (
        "Clockwork: an env was truncated more often in 16 steps than the 3 times that its truncations() gives; let it "
        "return the most that are possible"
    )
    with pytest.raises(DeclarationError, match=f"^{re.escape(expected)}$"):
        collector.check_finite()


def test_as_many_truncations_as_declared() -> None:
    collector = clockwork(4)
    for _ in range(40):
        collector.collect()
        collector.check_finite()


def numbers_refused(seen: str, resting: float, place: tuple[int, ...]) -> Filled:
    """A replay in whose latest row an agent sees NaN."""
    filled = Filled(seen=seen, resting=resting, num_steps=2)
    filled.collector.collect()
    filled.collector.check_finite()
    floats: Any = filled.array("ring_observations")
    floats[place] = float("nan")
    return filled


def test_observations_that_are_not_finite() -> None:
    filled = numbers_refused("floats", 0.0, (1, 2, 2, 1))
    expected = (
        "Varied: observations of env 2, agent 3 (right 0), number 1 in step 1 of the rollout is nan, expected a finite "
        "number; look for a division by zero, a root of a negative number or an array that is read before it is written"
    )
    with pytest.raises(TrainingError, match=f"^{re.escape(expected)}$"):
        filled.collector.check_finite()


def test_what_agents_see_that_do_not_count() -> None:
    filled = numbers_refused("floats", 0.5, (1, 2, 2, 1))
    filled.array("takes_part")[1, 2, 2] = 0
    filled.collector.check_finite()


def test_floats_among_bytes() -> None:
    filled = Filled(seen="mixed")
    filled.collector.collect()
    filled.collector.check_finite()
    rows = filled.array("ring_observations")
    rows[0, 0, 0, 5:9] = torch.tensor([float("inf")], device=rows.device).view(torch.uint8)
    with pytest.raises(TrainingError, match=r"env 0, agent 0 \(left 0\), number 0 in step 0 of the rollout is inf"):
        filled.collector.check_finite()
