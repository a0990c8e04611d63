"""Windows of teams, drawn from a ring, beside a walk through what was witnessed."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainers.replay.filled import Compared
from tests.trainers.replay.stated import Stated
from tests.trainers.replay.test_teams import Expected, Teams
from tests.trainers.replay.test_windows import FilledWindows, remembering
from tests.trainers.replay.witness import Moment, Witness
from warpworld.errors import TrainingError
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.players import Slot
from warpworld.trainers.replay import TeamSizes, TeamWindowReplay, TeamWindowSizes
from warpworld.world import World

ENVS, AGENTS = 3, 2
ENDS = {"terminating": 0.1, "truncating": 0.1, "dying": 0.15, "cutting": 0.15, "resting": 0.3}


class FilledTeamWindows(Compared):
    """The group left as a team, its replay of windows and a witness."""

    remembered = FilledWindows.remembered  # by playing an agent's episode again

    def __init__(self, slots: list[Slot] | None = None, kind: str = "gru", **given: Any) -> None:
        keys = {"rows": 25, "batch_size": 256, "burn_in": 2, "train_length": 5, "n_step": 2, "gamma": 0.9}
        own = {key: given.pop(key) for key in list(given) if key in TeamWindowSizes.__dataclass_fields__}
        self.world = World(Stated(**given), ENVS)
        self.policy = remembering(self.world, "left", kind)
        known = {**keys, "state": "overview", "state_size": self.policy.state_size, **own}
        self.sizes, self.slots = TeamWindowSizes(**known), slots or []
        self.collector = Collector(self.world, 3, graph_steps=0, slots=self.slots)
        self.replay = TeamWindowReplay(self.collector, ["left"], self.sizes)
        self.replay.act("left", self.policy)
        for other in ("middle", "right"):
            self.collector.act(other)
        self.witness = Witness(self.collector, ["left"])
        self.teams = Teams.__new__(Teams)  # what it expects of a transition, without a replay of its own
        same = ("n_step", "gamma", "reward_scale", "reward_clip", "mean_reward")
        self.teams.sizes = TeamSizes(rows=1, batch_size=1, **{key: getattr(self.sizes, key) for key in same})
        self.twin = copy.deepcopy(self.policy).cpu()
        self.states: dict[int, torch.Tensor] = {}
        self.world.reset()

    def array(self, what: str) -> Any:
        return self.world[self.replay.policy_agents.array(what)].cpu().numpy()

    def window(self, number: int, env: int) -> list[list[Moment]]:
        first = number * self.sizes.train_length
        steps = self.witness.steps[first : first + self.sizes.length]
        return [[step[env, agent] for agent in range(AGENTS)] for step in steps]

    def is_learnt(self, members: list[Moment], env: int) -> bool:
        is_own = not any(env in range(ENVS)[slot.envs] for slot in self.slots)
        return is_own and not members[0].out_of_time and any(member.counts for member in members)

    def drawable(self) -> dict[int, tuple[int, int]]:
        """Items that can be drawn, with their window and env."""
        sizes, written, found = self.sizes, len(self.witness.steps), {}
        for number in range(written // sizes.train_length + 1):
            first = number * sizes.train_length
            if first + sizes.length > written or first <= written - sizes.rows:
                continue
            for env in range(ENVS):
                trained = self.window(number, env)[sizes.burn_in : sizes.burn_in + sizes.train_length]
                if any(self.is_learnt(members, env) for members in trained):
                    found[number % sizes.slots * ENVS + env] = number, env
        return found

    def check(self) -> int:
        drawable = self.drawable()
        assert {int(item) for item in np.flatnonzero(self.array("leaves"))} == set(drawable)
        if not drawable:
            return 0
        drawn, items = self.replay.draw(), self.array("batch_items")
        assert set(items) == set(drawable)
        batch = {key: None if value is None else value.cpu().numpy() for key, value in vars(drawn).items()}
        for i, item in enumerate(items):
            if i == 0 or item != items[i - 1]:
                self.compare(batch, i, *drawable[int(item)])
        return len(drawable)

    def compare(self, batch: dict[str, Any], i: int, number: int, env: int) -> None:
        sizes, window = self.sizes, self.window(number, env)
        seen = [[member.seen for member in members] for members in window]
        assert np.array_equal(batch["observations"][:, i], seen)
        begins = [[False] * AGENTS, *([member.begins for member in members] for members in window[1:])]
        assert np.array_equal(batch["starts"][:, i], begins)
        states = [self.remembered(member) for member in window[0]]  # type: ignore[arg-type]
        np.testing.assert_allclose(batch["states"][i], states, atol=1e-5)
        behind = window[sizes.burn_in :]
        if sizes.state is not None:
            assert np.array_equal(batch["team_states"][:, i], 2 * np.array(seen[sizes.burn_in :]).reshape(-1, 6))
        for t, members in enumerate(behind[: sizes.train_length]):
            assert batch["learnt"][t, i] == self.is_learnt(members, env)
            if batch["learnt"][t, i]:
                transition = self.teams._of(members)
                assert transition is not None
                self.compare_step(
                    {key: batch[key] for key in batch if batch[key] is not None}, i, t, behind, transition
                )

    @staticmethod
    def compare_step(batch: dict[str, Any], i: int, t: int, behind: list[list[Moment]], made: Expected) -> None:
        assert np.array_equal(batch["actions"][t, i], made.actions)
        assert batch["takes_part"][t, i].tolist() == made.takes_part
        np.testing.assert_allclose(batch["returns"][t, i], made.total, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(batch["discounts"][t, i], made.discount, rtol=1e-6)
        if made.next_seen is None:
            return
        following = batch["following"][t, i]
        assert np.array_equal([member.seen for member in behind[following]], made.next_seen)
        assert batch["next_takes_part"][following, i].tolist() == made.next_takes_part
        if made.next_allowed is not None:
            assert np.array_equal(batch["action_masks"][following, i], made.next_allowed[:, :3])


CASES: dict[str, dict[str, Any]] = {
    "everything": {**ENDS, "forbidding": 0.4, "per": "agent"},
    "sum, no state, an lstm": {"mean_reward": False, "state": None, "kind": "lstm", "burn_in": 0, "n_step": 1, **ENDS},
    "no ends but those of envs, clipped": {"reward_scale": 0.6, "reward_clip": 0.5, "truncating": 0.2, "n_step": 3},
    "opponents": {**ENDS, "slots": [Slot(("left",), slice(1, 2))]},
}


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_windows_of_teams_are_those_that_were_played(case: str) -> None:
    """The ring wraps around twice or more."""
    assert FilledTeamWindows(**CASES[case]).run(20) > 30


def test_what_agents_that_are_out_see_does_not_reach_a_memory() -> None:
    filled = FilledTeamWindows(**ENDS)
    for _ in range(6):
        filled.collector.collect()
    filled.world["replay_ring_observations_left"][:] = torch.nan
    assert filled.replay.draw().observations.eq(0).all()


def test_a_ring_counts_teams() -> None:
    filled = FilledTeamWindows()
    assert filled.replay.items == 25 * ENVS
    assert filled.world.data.array("replay_batch_observations_left").shape == (9, 256, AGENTS, 3)
    assert filled.world.data.array("replay_window_states_left").shape == (5, ENVS, AGENTS, filled.sizes.state_size)


def test_a_state_that_is_not_finite_is_found() -> None:
    filled = FilledTeamWindows()
    filled.collector.collect()
    assert filled.replay.measured()[0]
    filled.world["replay_ring_state_left"][1, 2, 4] = float("nan")
    assert not filled.replay.measured()[0]
    with pytest.raises(TrainingError, match=r"^Stated: critic inputs of env 2, agent 0 .* number 4 in step 1 of"):
        filled.replay.refuse_not_finite()


@pytest.mark.parametrize("kind", [FilledTeamWindows, FilledWindows])
def test_a_checkpoint_holds_all_that_a_ring_of_windows_keeps(kind: Any) -> None:
    """States and cuts where windows begin are among it; sums of leaves follow from these."""
    filled = kind(**ENDS)
    kept = [
        name for name in filled.world.data.names("history") if not name.startswith(("replay_sums", "replay_prefix"))
    ]
    assert any("window_cuts" in name for name in kept)
    history = filled.replay.history
    held = {*history.whole(), *history.own(), *(name for rows in history.rows() for name in rows.arrays)}
    assert held >= set(kept)
