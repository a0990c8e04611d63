"""One policy's opponents: who comes into the slots, and what results do to ratings, by hand."""

from __future__ import annotations

import logging
import math
from typing import Any

import pytest
import torch

from tests.trainers.small_worlds import Still
from warpworld.config import ModelConfig, SelfPlayConfig
from warpworld.environment import placed_groups
from warpworld.policies import Policy, build_policy
from warpworld.trainers.collecting.players import Scripted, Slot
from warpworld.trainers.league.matchmaker import Matchmaker
from warpworld.trainers.league.opponents import Opponent


def policy(seed: int) -> Policy:
    group = placed_groups(Still())["left"]
    return build_policy(ModelConfig(hidden_sizes=(4,)), group, torch.Generator().manual_seed(seed))


def matchmaker(slots: int = 3, others: tuple[str, ...] = (), **settings: Any) -> Matchmaker:
    """Its present self has the weights of seed 0; s... are scripts, runs/x a policy of another run."""
    kinds = {"runs/x": "frozen", "random": "random"}
    opponents = [Opponent(name, kinds.get(name, "script")) for name in others]
    for opponent in opponents:
        if opponent.kind == "frozen":
            opponent.weights, opponent.file, opponent.digest = policy(99).state_dict(), "x.pt", "0" * 64
    scripts = {name: Scripted(name, lambda arrays, group: None) for name in others if name.startswith("s")}
    return Matchmaker(
        "me",
        policy(0),
        [policy(100 + i) for i in range(slots)],
        [Slot(("left",), slice(i, i + 1)) for i in range(slots)],
        slots,
        SelfPlayConfig(**settings),
        scripts,
        opponents,
        seed=5,
    )


def nothing(slot: Slot) -> None:
    """What exchanges are told where nobody listens."""


def test_ratings_by_hand() -> None:
    """K = 32. Present 1000; opponents 1000, 1200, 800; expected scores 1/2, 0.2402531 and 0.7597469."""
    made = matchmaker(others=("s1", "random", "runs/x"), pool_size=0, elo_k=32.0)
    state = made.state
    state.matches = ["s1", "random", "runs/x"]
    state.opponents["random"].rating, state.opponents["runs/x"].rating = 1200.0, 800.0
    made.take([[3.0, 4.0, 0.0], [1.0, 2.0, 5.0], [0.0, 0.0, 1.0]])  # 3/4, 1/2, and nothing
    first, second = 32 * (0.75 - 0.5), 32 * (0.5 - 0.2402531)
    assert state.rating == pytest.approx(1000 + first + second, abs=1e-5)
    ratings = [opponent.rating for opponent in state.opponents.values()]
    assert ratings == pytest.approx([1000 - first, 1200 - second, 800], abs=1e-5)
    assert [opponent.games for opponent in state.opponents.values()] == [4, 2, 0]
    assert [opponent.win_rate for opponent in state.opponents.values()] == [1.25 / 2, 1.0 / 2, 0.5]
    metrics = made.metrics()
    assert metrics.pop("league/me/elo") == state.rating
    assert math.isnan(metrics.pop("league/me/win_rate/frozen"))
    assert math.isnan(metrics.pop("league/me/left_out"))  # of a few episodes
    assert metrics == {
        "league/me/pool_size": 0, "league/me/games": 6, "league/me/win_rate/script": 0.75,
        "league/me/win_rate/random": 0.5,
    }  # fmt: skip


def test_one_opponent_in_two_slots() -> None:
    """Both slots count, from the same ratings; win rates of a kind weigh all matches alike."""
    made = matchmaker(slots=2, others=("random",), pool_size=0, elo_k=10.0)
    made.state.matches = ["random", "random"]
    made.take([[1.0, 1.0, 0.0], [0.0, 3.0, 0.0]])
    assert made.state.rating == pytest.approx(1000 + 10 * (1 - 0.5) + 10 * (0 - 0.5))
    assert made.state.opponents["random"].met == pytest.approx(1.9)
    assert made.state.opponents["random"].won == pytest.approx(0.9)
    assert made.metrics()["league/me/win_rate/random"] == 0.25


def test_past_selves_keep_their_weights_and_take_the_rating_of_their_day() -> None:
    made = matchmaker(slots=2, snapshot_every=2, match_every=1)
    made.begin(0, nothing)
    present = made._present
    first = {name: weight.clone() for name, weight in present.state_dict().items()}
    with torch.no_grad():
        for weight in present.parameters():
            weight.add_(1.0)
    made.state.rating = 1234.0
    made.begin(1, nothing)
    assert list(made.state.opponents) == ["me-000000"]
    made.begin(2, nothing)
    past = made.state.opponents
    assert list(past) == ["me-000000", "me-000002"]
    assert [opponent.rating for opponent in past.values()] == [1000.0, 1234.0]
    for opponent, expected in zip(past.values(), (first, present.state_dict()), strict=True):
        assert opponent.weights is not None
        assert all(torch.equal(opponent.weights[name], weight) for name, weight in expected.items())
    for slot, name in zip(made.slots, made.state.matches, strict=True):
        assert isinstance(slot.player, Policy)
        assert all(torch.equal(w, past[name].weights[n]) for n, w in slot.player.state_dict().items())  # type: ignore[index]


def test_slots_are_told_of_only_where_somebody_else_comes() -> None:
    told: list[Slot] = []
    made = matchmaker(slots=3, match_every=2)
    made.begin(0, told.append)
    assert told == made.slots
    made.begin(1, told.append)
    made.begin(2, told.append)  # the pool has one: nobody else can come
    assert len(told) == 3


def test_who_left_the_pool_plays_on_until_the_match_ends() -> None:
    made = matchmaker(slots=1, pool_size=2, snapshot_every=1, match_every=100, match_making="uniform")
    made.begin(0, nothing)
    made.begin(1, nothing)
    made.state.matches = ["me-000001"]
    made.begin(2, nothing)
    assert made.state.retired == {"me-000001"}
    assert set(made.state.opponents) == {"me-000000", "me-000001", "me-000002"}
    assert [opponent.name for opponent in made.state.pool()] == ["me-000000", "me-000002"]
    assert made.metrics()["league/me/pool_size"] == 2
    made.take([[1.0, 2.0, 0.0]])
    assert made.state.opponents["me-000001"].games == 2
    made.begin(100, nothing)
    assert "me-000001" not in made.state.opponents and not made.state.retired


def test_each_kind_is_placed() -> None:
    made = matchmaker(slots=3, others=("s1", "random", "runs/x"), pool_size=0, match_making="uniform")
    made.begin(0, nothing)
    players = dict(zip(made.state.matches, (slot.player for slot in made.slots), strict=True))
    assert set(players) == {"s1", "random", "runs/x"}  # different ones: there are enough
    assert players["random"] is None
    assert isinstance(players["s1"], Scripted) and players["s1"].name == "s1"
    frozen = players["runs/x"]
    assert isinstance(frozen, Policy)
    assert all(torch.equal(w, policy(99).state_dict()[n]) for n, w in frozen.state_dict().items())


def test_hard_opponents_come_more_often() -> None:
    made = matchmaker(slots=1, others=("s1", "s2"), pool_size=0, match_every=1)
    for opponent, won in zip(made.state.opponents.values(), (8.5, 0.5), strict=True):
        opponent.met, opponent.won, opponent.games = 9.0, won, 9  # win rates 0.9 and 0.1
    met = []
    for iteration in range(2000):
        made.begin(iteration, nothing)
        met += made.state.matches
    assert met.count("s1") / len(met) == pytest.approx(0.01 / 0.82, abs=0.01)


def test_matches_that_are_too_short_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    made = matchmaker(slots=1, others=("random",), match_every=5)
    with caplog.at_level(logging.WARNING):
        made.begin(0, nothing)
        made.take([[0.0, 0.0, 0.0]])
    assert not caplog.text
    with caplog.at_level(logging.WARNING):
        for iteration in (5, 10):
            made.begin(iteration, nothing)
    assert caplog.text.count("policy.me.self_play: no episode ended while an opponent stayed in its slot") == 1


def test_games_that_are_lost_to_exchanges_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    """Three envs play 5 rollouts a match; 20 of 30 episodes are left out. A hundred have ended after four matches."""
    made = matchmaker(slots=3, others=("s1", "s2", "random"), pool_size=0, match_every=5)
    shares = []
    with caplog.at_level(logging.WARNING):
        for iteration in range(41):
            made.begin(iteration, nothing)
            made.take([[1.0, 2.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 2.0]])
            shares.append(made.metrics()["league/me/left_out"])
    assert all(math.isnan(share) for share in shares[:20])
    assert shares[20:] == [pytest.approx(2 / 3)] * 21
    (warned,) = [record.getMessage() for record in caplog.records]
    assert warned == (
        "policy.me.self_play: most games do not count: 80 of 120 episodes that ended in its slots began against "
        "another opponent; the mean episode takes 0.5 rollouts: let match_every, which is 5, be several times as many"
    )


def test_half_of_the_games_may_be_lost(caplog: pytest.LogCaptureFixture) -> None:
    """And what was judged once is not judged again: 50 of 100, then 0 of 100."""
    made = matchmaker(slots=1, others=("random",), pool_size=0, match_every=1)
    with caplog.at_level(logging.WARNING):
        for iteration, left_out in enumerate((50.0, 0.0, 49.0)):
            made.begin(iteration, nothing)
            made.take([[0.0, 100.0 - left_out, left_out]])
            made.begin(iteration + 1, nothing)
            assert made.metrics()["league/me/left_out"] == left_out / 100
    assert not caplog.text
