"""The part "learners" times iterations that learn, and names what does not."""

from __future__ import annotations

import math
import re

import pytest

from benchmarks.gpu import learners, page
from benchmarks.gpu.learners import LEARNERS, Learner
from benchmarks.gpu.part import Context


@pytest.mark.parametrize(
    ("losses", "learns"),
    [
        ({}, False),
        ({"losses/runner/loss": 0.0, "losses/runner/value": 0.0}, False),
        ({"losses/runner/loss": 0.5, "losses/runner/value": 0.0}, True),
        ({"losses/runner/loss": 0.5, "losses/tagger/loss": 0.0}, False),
        ({"losses/runner/loss": 0.5, "losses/tagger/loss": math.nan}, True),
    ],
)
def test_an_iteration_learns_once_all_policies_do(losses: dict[str, float], learns: bool) -> None:
    assert learners._all_learn(losses) is learns


@pytest.mark.heavy
@pytest.mark.long
def test_a_replay_a_memory_a_team_and_a_league_are_timed(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ("recall", "particles_spread_qmix", "connect_four")
    chosen = [learner for learner in LEARNERS if learner.config in wanted]
    monkeypatch.setattr(learners, "LEARNERS", chosen)
    learners.train(context)
    rows = context.figures["rows"]
    assert [row["config"] for row in rows] == ["recall", *wanted]
    assert ["minimal" in row["shows"] for row in rows] == [False, True, False, False]
    assert all(row["seconds_per_iteration"] > 0 and learners._all_learn(row["losses"]) for row in rows)
    assert not any(row["graphs"] or row["update_graphs"] for row in rows)  # there are none on cpu
    assert all(row["needs"]["bytes"] > 0 and row["needs"]["flop"] > 0 for row in rows)


@pytest.mark.parametrize("losses", [{}, {"losses/agent/loss": math.nan}])
def test_what_does_not_learn_is_named(
    losses: dict[str, float], context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learners, "LEARNERS", (Learner("cartpole", "PPO"),))
    monkeypatch.setattr(learners, "_train", lambda *arguments: (0.1, losses))
    learners.train(context)
    (found,) = context.findings
    assert re.match(r"cartpole, PPO: (nothing was learnt|.*nan)", found)


@pytest.mark.parametrize(
    ("graphs", "update_graphs", "headline", "cell"),
    [
        (True, True, "not as graphs: none; ms an iteration: recall 2", "rollout and update"),
        (True, False, "not as graphs: updates of recall; ms an iteration: recall 2", "rollout"),
        (False, False, "not as graphs: rollouts of recall, updates of recall; ms an iteration: recall 2", "none"),
    ],
)
def test_what_did_not_run_as_graphs_is_named(graphs: bool, update_graphs: bool, headline: str, cell: str) -> None:
    row = {"config": "recall", "shows": "PPO", "seconds_per_iteration": 0.002, "env_steps_per_s": 5e6}
    row |= {"graphs": graphs, "update_graphs": update_graphs}
    assert learners.headline_of([row], "cuda") == headline
    assert learners.headline_of([row], "cpu") == "ms an iteration: recall 2"
    table = page._learners({"parts": {"learners": {"figures": {"rows": [row]}}}})
    assert f"| recall | PPO | 2.00 | {cell} | 5 M |  |  |  |" in table
