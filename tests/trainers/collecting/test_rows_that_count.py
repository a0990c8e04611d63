"""Rows of a rollout that teach nothing, and where a step is recorded that belongs to no rollout."""

from __future__ import annotations

import pytest
import torch

from tests.trainers.in_turn import trained, weights


@pytest.mark.parametrize("share", [None, 0.5])
def test_agents_that_take_no_part_teach_nothing(share: float | None) -> None:
    """Nor do they where some envs have opponents. Without a discount, no expectation passes through their rows."""
    slots = {} if share is None else {"groups": ["rival"], "opponents": ["random"], "pool_size": 0, "share": share}
    self_play = {"self_play": {**slots, "slots": 1}} if slots else {}
    found = [weights(trained({"junk": junk}, iterations=2, **self_play)) for junk in (0.0, 50.0)]
    assert torch.equal(*found)


def test_a_step_behind_a_rollout_is_recorded_in_a_row_that_exists() -> None:
    """In the first; behind the last row lies another array."""
    world = trained().world
    recorded = world["rollout_rewards"]
    recorded.fill_(-1.0)
    world["actions"].fill_(1)
    world.step()
    assert torch.equal(recorded[0], world["rewards"])
    assert (recorded[1:] == -1.0).all()
