"""Rows of a rollout that teach nothing, and where a step is recorded that belongs to no rollout."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainers.in_turn import InTurn, trained, weights


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


class Gone(InTurn):
    """The rival never takes part, and sees what is no number; episodes are cut in their fourth step."""

    def _takes_part(self, timestep: Tensor) -> Tensor:
        return torch.tensor([True, False]).expand(len(timestep), 2)

    def _step(self, arrays: Any, active: Tensor) -> None:
        super()._step(arrays, active)
        arrays["truncated"] = arrays["terminated"].clone()
        arrays["terminated"] = torch.zeros_like(arrays["terminated"])

    def _show(self, arrays: Any, active: Tensor) -> None:
        super()._show(arrays, active)
        arrays["observations"][:, 1] = torch.nan


def test_what_a_cut_off_episode_shows_an_agent_that_is_out_may_be_no_number() -> None:
    assert weights(trained(environment=Gone)).isfinite().all()
