"""Steps captured into a graph while opponents come and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from warpworld.config import config_from_dict
from warpworld.trainers.trainer import Trainer
from warpworld.world import World

pytestmark = pytest.mark.cuda_backend


def trained(graph_steps: int, opponents: list[str], name: str, policy: dict[str, Any], **model: Any) -> Trainer:
    pool = {"share": 0.5, "slots": 3, "pool_size": 4, "snapshot_every": 1, "match_every": 1, "opponents": opponents}
    (policy_name,) = policy
    play = {**pool, **policy[policy_name]["self_play"]}
    entry = {**policy[policy_name], "model": {"hidden_sizes": [8, 8], **model}, "self_play": play}
    trainer = {"num_envs": 12, "num_steps": 6, "total_env_steps": 12 * 6 * 6, "graph_steps": graph_steps}
    data = {"name": name, "trainer": trainer, "policy": {policy_name: {**entry, "num_minibatches": 2}}}
    found = Trainer(config_from_dict(data))
    found.train(None)
    return found


THROWS = (
    "tests.trainers.league.duels:Throws",
    {"fighter": {"groups": ["player", "rival"], "self_play": {"groups": ["rival"]}}},
)
LIVES = "tests.trainers.recall:Lives", {"both": {"groups": ["left", "right"], "self_play": {"groups": ["right"]}}}


@pytest.fixture
def captures(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each graph that is captured."""
    found: list[int] = []
    capture = World.capture

    def count(self: World, run: Callable[[], None]) -> Callable[[], None]:
        found.append(1)
        return capture(self, run)

    monkeypatch.setattr(World, "capture", count)
    return found


def same(one: Trainer, other: Trainer) -> None:
    assert torch.equal(one.world.snapshot(), other.world.snapshot())
    assert {n: s.state.rating for n, s in one.league.matchmakers.items()} == {
        n: s.state.rating for n, s in other.league.matchmakers.items()
    }
    for name, policy in one.policies.items():
        others = other.policies[name]
        assert policy is not None and others is not None
        assert all(torch.equal(a, b) for a, b in zip(policy.parameters(), others.parameters(), strict=True))


def test_past_selves_come_and_go_within_one_graph(captures: list[int]) -> None:
    eager, graph = (trained(steps, [], *THROWS) for steps in (0, 3))
    assert len(captures) == 1
    same(eager, graph)


def test_another_kind_of_opponent_needs_another_graph(captures: list[int]) -> None:
    eager, graph = (trained(steps, ["rock", "random"], *THROWS) for steps in (0, 3))
    assert 1 < len(captures) <= 6
    same(eager, graph)


def test_opponents_that_remember(captures: list[int]) -> None:
    eager, graph = (trained(steps, [], *LIVES, recurrent="gru", recurrent_size=5) for steps in (0, 3))
    assert len(captures) == 1
    same(eager, graph)
