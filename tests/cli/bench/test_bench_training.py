"""`warpworld bench --train`: configs, settings and commits, trained in processes of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.cli.bench.git import git
from warpworld.cli.main import main

pytestmark = [pytest.mark.cpu_backend, pytest.mark.heavy]

SHORT = ["--train", "--seconds", "0.001", "--device", "cpu"]


def test_settings_are_trained_in_turn(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = Path("rows.json")
    words = ["steady.yaml", "learning_rate=0.1", "--vary", "trainer.num_envs=2,6"]
    assert main(["bench", *words, "--save", str(saved), *SHORT]) == 0
    rows = json.loads(saved.read_text())["rows"]
    assert [row["side"] for row in rows] == [f"steady.yaml, trainer.num_envs={n}" for n in (2, 6)]
    assert [(row["env_steps"], row["num_agents"]) for row in rows] == [(10, 5), (30, 5)]
    for row in rows:
        assert len(row["seconds"]) == 7
        assert all(0 < part < whole for part, whole in zip(row["rollouts"], row["seconds"], strict=True))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("config ") and "rollout" in lines[0] and "times as fast (" in lines[2]
    assert not Path("runs").exists()


def test_each_commit_has_its_own_config(repository: Path) -> None:
    assert main(["bench", "steady.yaml", "--against", "HEAD~1", "--save", "rows.json", "--envs", "2", *SHORT]) == 0
    rows = json.loads(Path("rows.json").read_text())["rows"]
    assert [(row["env_steps"], row["num_agents"]) for row in rows] == [(10, 5), (6, 3)]
    assert git(repository, "worktree", "list").count("\n") == 0


def test_an_iteration_may_be_longer_than_the_run(repository: Path) -> None:
    assert main(["bench", "steady.yaml", "--envs", "300", "--save", "rows.json", *SHORT]) == 0
    assert [row["env_steps"] for row in json.loads(Path("rows.json").read_text())["rows"]] == [1500]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_the_config_says_where(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "steady.yaml", "trainer.device=cuda", "--train", "--seconds", "0.001"]) == 2
    assert "error: steady.yaml: device 'cuda' cannot be used" in capsys.readouterr().err


def test_an_environment_that_fails(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("steady.cu").write_text(Path("steady.cu").read_text().replace("= 1.0f", "= 0.0f / 0.0f"))
    assert main(["bench", "steady.yaml", *SHORT]) == 2
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith("error: steady.yaml: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["steady.yaml", "trainer.num_evns=3"], "trainer.num_evns is not a known key. Did you mean 'num_envs'?"),
        (["steady.yaml", "--vary", "gamma=0.9,1.5"], "policy.agent.gamma is 1.5, expected at most 1"),
        (["steady.yaml", "--vary", "gamma=0.9"], "error: --vary gamma=0.9: expected a key and at least two values"),
        (["steddy.yaml"], "error: no file 'steddy.yaml'"),
    ],
)
def test_mistakes_cost_a_line(
    repository: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words, *SHORT]) == 2
    assert message in capsys.readouterr().err


def test_training_is_of_a_config() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "--train"])
    assert ended.value.code == 2
