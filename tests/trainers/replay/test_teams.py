"""Transitions of teams, drawn from a ring, beside a walk through what was witnessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.trainers.replay.filled import Compared
from tests.trainers.replay.stated import Stated
from tests.trainers.replay.witness import Moment, Witness
from warpworld.errors import TrainingError
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.players import Slot
from warpworld.trainers.replay import TeamReplay, TeamSizes
from warpworld.world import World

ENDING = {"dying": 0.15, "cutting": 0.15, "resting": 0.3}


@dataclass
class Expected:
    """A team's transition as it is to be drawn; what follows is None where nothing does."""

    seen: np.ndarray
    actions: np.ndarray
    takes_part: list[bool]
    total: float
    discount: float
    next_seen: np.ndarray | None = None
    next_allowed: np.ndarray | None = None
    next_takes_part: list[bool] | None = None


class Teams(Compared):
    """The group left as a team, its replay and a witness."""

    def __init__(
        self, sizes: dict[str, Any] | None = None, slots: list[Slot] | None = None, num_envs: int = 3, **params: Any
    ) -> None:
        self.sizes = TeamSizes(**{"rows": 16, "batch_size": 256, "gamma": 0.9, "state": "overview", **(sizes or {})})
        self.world = World(Stated(**params), num_envs)
        self.collector = Collector(self.world, 2, graph_steps=0, slots=slots or [])
        self.replay = TeamReplay(self.collector, "left", self.sizes)
        self.replay.act("left", None)
        for other in ("middle", "right"):
            self.collector.act(other)
        self.witness, self.slots = Witness(self.collector, ["left"]), slots or []
        self.world.reset()

    # ---- what is to be drawn -----------------------------------------------------------------------------------------
    def expected(self) -> dict[int, Expected]:
        """By item: (row, env)."""
        steps, rows, envs = self.witness.steps, self.sizes.rows, self.world.num_envs
        found = {}
        for number in range(max(0, len(steps) - rows), len(steps)):
            for env in range(envs):
                made = self._of([steps[number][env, agent] for agent in range(2)])
                if made is not None and not any(env in range(s.envs.start, s.envs.stop) for s in self.slots):
                    found[number % rows * envs + env] = made
        return found

    def _of(self, members: list[Moment]) -> Expected | None:
        sizes, steps = self.sizes, self.sizes.n_step
        finals = sizes.final_observations
        takes_part = [member.counts for member in members]
        complete = Witness._followed(members[0], steps)
        if not any(takes_part) or not complete or (members[0].out_of_time and not finals):
            return None
        made = Expected(self._seen(members), np.stack([member.action for member in members]), takes_part, 0.0, 1.0)
        now = members
        for taken in range(steps):
            env = now[0]  # whose ends are those of all
            if env.out_of_time and not finals and taken:
                break
            rewards = [member.reward if member.counts else 0.0 for member in now]
            earned = sum(rewards) / (2 if sizes.mean_reward else 1)
            limit = sizes.reward_clip or np.inf
            made.total += made.discount * np.clip(sizes.reward_scale * earned, -limit, limit)
            made.discount *= sizes.gamma
            if env.terminated:
                made.discount = 0.0
                return made
            if env.out_of_time:
                made.next_seen = np.stack([member.last_seen for member in now])  # type: ignore[misc]
                made.next_takes_part = [member.counts and not member.life_over for member in now]
                if env.last_allowed is not None:
                    made.next_allowed = np.stack([member.last_allowed for member in now])  # type: ignore[misc]
                return made
            now = [member.after for member in now]  # type: ignore[misc]
        made.next_seen = self._seen(now)
        made.next_takes_part = [member.counts or (member.before is not None and member.before.cut) for member in now]
        made.next_allowed = None if now[0].allowed is None else np.stack([member.allowed for member in now])  # type: ignore[misc]
        return made

    @staticmethod
    def _seen(members: list[Moment]) -> np.ndarray:
        return np.stack([member.seen for member in members])

    # ---- compared ----------------------------------------------------------------------------------------------------
    def check(self) -> int:
        name, expected = self.replay.policy_agents.name, self.expected()
        leaves = self.world.data.numpy(f"replay_leaves_{name}")
        assert {int(item) for item in np.flatnonzero(leaves)} == set(expected)
        if not expected:
            return 0
        drawn = self.replay.draw()
        items = self.world.data.numpy(f"replay_batch_items_{name}")
        assert set(items) == set(expected)
        found = {key: None if value is None else value.cpu().numpy() for key, value in vars(drawn).items()}
        for i, item in enumerate(items):
            self._compare({key: value[i] for key, value in found.items() if value is not None}, expected[int(item)])
        return len(expected)

    def _compare(self, found: dict[str, Any], made: Expected) -> None:
        assert np.array_equal(found["observations"], made.seen)
        assert np.array_equal(found["actions"], made.actions)
        assert found["takes_part"].tolist() == made.takes_part
        np.testing.assert_allclose(found["returns"], made.total, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found["discounts"], made.discount, rtol=1e-6)
        if self.sizes.state is not None:
            assert np.array_equal(found["states"], 2 * made.seen.ravel())
        if made.next_seen is None:
            return
        assert np.array_equal(found["next_observations"], made.next_seen)
        assert found["next_takes_part"].tolist() == made.next_takes_part
        if self.sizes.state is not None:
            assert np.array_equal(found["next_states"], 2 * made.next_seen.ravel())
        if made.next_allowed is not None:
            assert np.array_equal(found["next_action_masks"], made.next_allowed[:, :3])


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one step": ({}, {}),
    "sum, no state": ({"mean_reward": False, "state": None}, {"resting": 0.3}),
    "steps, finals, a state of each agent": (
        {"n_step": 3, "final_observations": True},
        {**ENDING, "per": "agent", "forbidding": 0.4},
    ),
    "steps without finals": ({"n_step": 3, "reward_scale": 0.6, "reward_clip": 0.5}, {**ENDING, "forbidding": 0.4}),
    "groups that see other things": ({"final_observations": True}, {**ENDING, "apart": True, "truncating": 0.3}),
}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_teams_are_drawn_as_they_were_witnessed(case: str) -> None:
    sizes, params = CASES[case]
    assert Teams(sizes, **params).run(12) > 100


@pytest.mark.long
def test_a_team_that_an_opponent_plays_is_not_drawn() -> None:
    teams = Teams(slots=[Slot(("left",), slice(1, 2))], **ENDING)
    assert teams.run(8) > 50


def test_a_ring_counts_teams() -> None:
    teams = Teams()
    assert teams.replay.items == 16 * 3
    assert teams.world.data.array("replay_batch_observations_left").shape == (256, 2, 3)


def test_a_state_that_is_not_finite_is_found() -> None:
    teams = Teams()
    teams.collector.collect()
    assert teams.replay.measured()[0]
    teams.world["replay_ring_state_left"][1, 2, 4] = float("nan")
    assert not teams.replay.measured()[0]
    with pytest.raises(TrainingError) as refused:
        teams.replay.refuse_not_finite()
    assert str(refused.value) == (
        "Stated: critic inputs of env 2, agent 0 (left 0), number 4 in step 1 of the rollout is nan, expected a finite "
        "number; look for a division by zero, a root of a negative number or an array that is read before it is written"
    )
