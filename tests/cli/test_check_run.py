"""`warpworld check RUN`: a run's policies act in the check of its environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from warpworld.cli.main import main
from warpworld.config import load_config
from warpworld.environment import get_environment
from warpworld.runs import Run
from warpworld.trainers.building import build_policies
from warpworld.trainers.from_python.check_run import check_run

pytestmark = pytest.mark.cpu_backend

# The branch that loses updates is one that random actions do not come to: right four times in a row.
KERNELS = """#include <warpworld.cuh>
extern "C" __global__ void step(int* row, int* lucky, const int* actions, const int* timestep, float* observations,
                                bool* truncated, int episode_length) {
  if (!is_active()) return;
  row[agent_index()] = actions[agent_index()] == 15 ? row[agent_index()] + 1 : 0;
  if (row[agent_index()] >= 4)
    lucky[env_id()] += 1;
  observations[agent_index()] = 1.0f;
  if (agent_id() == 0) truncated[env_id()] = timestep[env_id()] == episode_length;
}
extern "C" __global__ void reset(int* row, int* lucky, float* observations) {
  if (!is_active()) return;
  row[agent_index()] = 0;
  if (agent_id() == 0) lucky[env_id()] = 0;
  observations[agent_index()] = 1.0f;
}
"""
ENVIRONMENT = """
from dataclasses import dataclass
from gymnasium.spaces import Box, Discrete
from warpworld import Array, Environment, Group

class Lucky(Environment):
    source = "lucky.cu"

    @dataclass(frozen=True)
    class Params:
        gamblers: int = 3
        episode_length: int = 10

    def groups(self):
        return [Group("gambler", self.params.gamblers, observation=Box(0.0, 1.0, (1,)), action=Discrete(16))]

    def arrays(self):
        return [Array("row", "int32"), Array("lucky", "int32", per="env")]
"""
CONFIG = """
name: {path}:Lucky
trainer: {{num_envs: 4, num_steps: 4, total_env_steps: 64, device: cpu}}
policy: {{gambler: {{num_minibatches: 1}}}}
"""
LINE = 7  # of the update


def prefers_the_last(run: Run) -> None:
    """Write a checkpoint with a policy that always takes action 15."""
    config = run.config
    built = build_policies(config, get_environment(config.name)(**config.env), torch.Generator().manual_seed(0))
    weights = {name: policy.state_dict() for name, policy in built.items() if policy is not None}
    for name, values in weights["gambler"].items():
        if values.shape[0] == 16 and values.ndim == 1:
            weights["gambler"][name] = torch.full((16,), -30.0).index_fill(0, torch.tensor([15]), 30.0)
    run.save_checkpoint(3, {"policies": weights})


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "lucky.py").write_text(ENVIRONMENT)
    (tmp_path / "lucky.cu").write_text(KERNELS)
    config = tmp_path / "lucky.yaml"
    config.write_text(CONFIG.format(path=tmp_path / "lucky.py"))
    return Run.create(load_config(config), tmp_path / "runs")


@pytest.mark.long
@pytest.mark.parametrize("words", [[], ["--greedy"], ["--checkpoint", "3", "gamblers=2"]])
def test_policies_come_where_random_actions_do_not(
    run: Run, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    prefers_the_last(run)
    short = ["--steps", "30", "--envs", "2"]
    assert main(["check", str(run.path), *short, *words, "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert {(finding["kind"], finding["place"]["line"]) for finding in report["findings"]} == {("race", LINE)}
    assert report["policies"] == str(run.path)
    assert report["coverage"][0]["never"] == []


@pytest.mark.long
def test_random_actions_do_not_come_there_and_the_report_says_so(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.path.parent.parent)
    assert main(["check", "lucky.py", "--steps", "30", "--envs", "2"]) == 0
    assert f"never: lucky.cu:{LINE}" in capsys.readouterr().out


@pytest.mark.long
def test_python_says_whose_policies_acted(run: Run) -> None:
    prefers_the_last(run)
    report = check_run(run, num_envs=2, steps=20, greedy=True)
    assert f"(2 envs, 20 steps with the policies of {run.path}, seed 0, " in report.summary
    assert not report.clean


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{run}"], "has no checkpoint; its training ended before the first was written"),
        (["{run}", "gambler=2"], "gambler is not a known key. Did you mean 'env.gamblers'?"),
        (["cartpole", "--greedy"], "--greedy is for a run folder, and 'cartpole' is none: leave it out"),
        (["cartpole", "--checkpoint", "3"], "--checkpoint is for a run folder, and 'cartpole' is none: leave it out"),
    ],
)
def test_what_cannot_be_played_is_an_error_of_one_line(
    run: Run, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *(word.format(run=run.path) for word in words)]) == 2
    printed = capsys.readouterr()
    lines = [line for line in printed.err.splitlines() if "loads code from outside warpworld" not in line]
    assert printed.out == "" and len(lines) == 1 and message in lines[0]
