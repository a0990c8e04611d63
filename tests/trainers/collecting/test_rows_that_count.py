"""Rows of a rollout that teach nothing, and where a step is recorded that belongs to no rollout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainers.in_turn import OPPONENTS, InTurn, trained, weights


@pytest.mark.parametrize("self_play", [None, OPPONENTS])
def test_agents_that_take_no_part_teach_nothing(self_play: dict[str, Any] | None) -> None:
    """Nor do they where some envs have opponents. Without a discount, no expectation passes through their rows."""
    found = [weights(trained({"junk": junk}, iterations=2, self_play=self_play)) for junk in (0.0, 50.0)]
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
        return torch.tensor([True, False], device=timestep.device).expand(len(timestep), 2)

    def _step(self, arrays: Any, active: Tensor) -> None:
        super()._step(arrays, active)
        arrays["truncated"] = arrays["terminated"].clone()
        arrays["terminated"] = torch.zeros_like(arrays["terminated"])

    def _show(self, arrays: Any, active: Tensor) -> None:
        super()._show(arrays, active)
        arrays["observations"][:, 1] = torch.nan


def test_what_a_cut_off_episode_shows_an_agent_that_is_out_may_be_no_number() -> None:
    assert weights(trained(environment=Gone)).isfinite().all()


def test_rows_that_an_opponent_played_do_not_count() -> None:
    """A normaliser says how many do: of 8 steps, half of those of the player, and of the rival in 4 envs."""
    policy = trained(self_play=OPPONENTS, model={"normalise_observations": True}).policies["both"]
    assert policy is not None and policy.normaliser is not None
    assert policy.normaliser.count.item() == (8 + 4) * 8 // 2


class Paid(InTurn):
    """Every step of the four of an episode pays 1 to the player and 3 to the rival; both always take part."""

    def _takes_part(self, timestep: Tensor) -> Tensor:
        return torch.ones(len(timestep), 2, dtype=torch.bool, device=timestep.device)

    def _step(self, arrays: Any, active: Tensor) -> None:
        super()._step(arrays, active)
        arrays["rewards"] = torch.tensor([1.0, 3.0], device=active.device).expand(len(active), 2)


@pytest.mark.parametrize(("self_play", "expected"), [(None, (4 + 12) / 2), (OPPONENTS, (8 * 4 + 4 * 12) / 12)])
def test_a_return_is_the_mean_over_what_the_policy_played(self_play: dict[str, Any] | None, expected: float) -> None:
    """Each agent in each env once, but for the rival where an opponent plays it."""
    seen: list[Mapping[str, Any]] = []
    trained(environment=Paid, self_play=self_play, on_iteration=seen.append)
    assert seen[0]["charts/both/episodic_return"] == pytest.approx(expected)
