"""A ring of which nothing can be drawn, as of agents that took no part, gives zeros that nothing is learnt from."""

from __future__ import annotations

from typing import Any

import torch

from tests.trainers.replay.filled import Filled


def nothing_drawable(**options: Any) -> Filled:
    filled = Filled(**options)
    filled.array("played").zero_()
    filled.collector.collect()
    filled.collector.collect()
    return filled


def test_a_batch_of_zeros() -> None:
    filled = nothing_drawable()
    filled.array("ring_observations").fill_(float("nan"))  # what others see counts for nothing
    drawn = filled.replay.draw(0.5)
    for tensor in (drawn.observations, drawn.next_observations, drawn.returns, drawn.discounts, drawn.weights):
        assert not tensor.any()


def test_errors_of_nothing_are_dropped() -> None:
    filled = nothing_drawable(sizes={"alpha": 0.6})
    filled.replay.draw(0.5)
    filled.replay.update(torch.ones(filled.sizes.batch_size, device=filled.world.device))
    assert not filled.array("leaves").any()
    assert not filled.array("prefix").any()
