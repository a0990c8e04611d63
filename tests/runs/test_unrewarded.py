"""Runs whose rewards were all 0 say so: at their end, in listings and in reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runs.test_summaries import logged
from warpworld import train
from warpworld.cli.main import main
from warpworld.report.report import write_report
from warpworld.runs.metrics.unrewarded import Unrewarded
from warpworld.runs.summary import summarise

MESSAGE = "all rewards of agent were 0: look at those that the environment gives, which warpworld run shows"
POLICIES = {"agent": {"algorithm": "ppo"}, "still": {"algorithm": "ppo", "train": False}, "r": {"algorithm": "random"}}

SILENT = """\
from gymnasium.spaces import Box, Discrete
from warpworld import Environment, Group, register


@register("silent")
class Silent(Environment):
    source = "silent.cu"

    def groups(self):
        return [Group("agent", 2, observation=Box(0.0, 1.0, (1,)), action=Discrete(3))]
"""
KERNELS = """\
#include <warpworld.cuh>
extern "C" __global__ void step(const int* timestep, float* rewards, bool* truncated) {
  if (!is_active()) return;
  rewards[agent_index()] = agent_id() ? REWARD : -REWARD;  // of both together it is 0
  if (agent_id() == 0 && timestep[env_id()] == 5) truncated[env_id()] = true;
}
extern "C" __global__ void reset() {}
"""


@pytest.mark.heavy
@pytest.mark.parametrize(("reward", "message"), [("0.0f", MESSAGE), ("1.0f", "")])
def test_a_training_without_rewards_says_so(
    reward: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "silent.py").write_text(SILENT)
    (tmp_path / "silent.cu").write_text(KERNELS.replace("REWARD", reward))
    config: dict[str, Any] = {
        "name": str(tmp_path / "silent.py"),
        "trainer": {"num_envs": 4, "num_steps": 8, "total_env_steps": 96, "device": "cpu"},
        "policy": {"agent": {"algorithm": "ppo", "num_minibatches": 1}},
    }
    run = train(config, directory=tmp_path / "runs")
    assert (MESSAGE in capsys.readouterr().out.splitlines()) == bool(message)
    assert summarise(run).note == message
    assert (MESSAGE in write_report([run], tmp_path / "page.html").read_text()) == bool(message)
    assert main(["runs", str(tmp_path / "runs")]) == 0
    assert (MESSAGE in capsys.readouterr().err) == bool(message)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"charts/agent/unrewarded": 1, "charts/agent/episodic_return": 0.0}] * 2, MESSAGE),
        ([{"charts/agent/unrewarded": 1, "charts/agent/episodic_return": float("nan")}], MESSAGE),
        ([{"charts/agent/unrewarded": 1}, {}], ""),
        ([{"charts/agent/unrewarded": 1, "charts/agent/episodic_return": 0.5}], ""),  # in a rollout that has no line
        ([{"charts/agent/episodic_return": 0.0}], ""),  # of an older run, or rewards that cancel
        ([], ""),
    ],
)
def test_what_is_said_of_lines(rows: list[dict[str, Any]], message: str) -> None:
    found = Unrewarded(POLICIES)
    found.take({"env_steps": 1})  # an iteration that is not logged
    for row in rows:
        found.take({"charts/episodes": 1, **row})
    assert found.message == message


def test_rewards_that_come_late_are_found(tmp_path: Path) -> None:
    run = logged(tmp_path, [])
    for i, more in enumerate([{"charts/agent/unrewarded": 1}, {"charts/agent/unrewarded": 1}, {}], 1):
        run.log({"iteration": i, "env_steps": i, "charts/episodes": 0, **more})
        assert summarise(run).note == (MESSAGE if more else "")
    run.close()
