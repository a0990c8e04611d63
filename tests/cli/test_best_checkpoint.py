"""``--checkpoint best``: the weights with the best evaluation, in every command that plays a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.trainers.evaluations.evaluated import ONE
from warpworld.cli.main import main
from warpworld.config import config_from_dict
from warpworld.runs import Run
from warpworld.trainers.trainer import Trainer


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of CartPole whose second and last evaluation is the worse one: its second half learns to play at random."""
    half = 8 * 32 * 20
    bonus = [[0, 0.0], [half, 0.0], [half + 1, 100.0]]
    agent = {**ONE, "learning_rate": 3e-3, "anneal_lr": False, "ent_coef": bonus}
    sizes = {"num_envs": 8, "num_steps": 32, "total_env_steps": 2 * half, "device": "cpu"}
    saving = {"eval_every": 20, "eval_episodes": 16, "checkpoint_every": 20}
    data = {"name": "cartpole", "trainer": sizes, "policy": {"agent": agent}, "saving": saving}
    trainer = Trainer(config_from_dict(data))
    run = trainer.create_run(tmp_path_factory.mktemp("runs"))
    assert run is not None
    trainer.train(run)
    run.close()
    return run


@pytest.mark.long
def test_every_command_plays_it(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.loads(line) for line in run.metrics_path.read_text().splitlines()]
    scores = {line["iteration"]: line["eval/agent/score"] for line in lines if "eval/agent/score" in line}
    assert list(scores) == [20, 40]
    assert scores[20] > scores[40]
    assert main(["eval", str(run.path), "--checkpoint", "best", "--episodes", "16"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["agent", f"{scores[20]:,.2f}"]
    assert main(["watch", str(run.path), "--checkpoint", "best", "--no-gif", "--output", str(tmp_path)]) == 0
    assert "cartpole, best evaluation, actions drawn, seed 0: " in capsys.readouterr().out
    assert main(["export", str(run.path), "--checkpoint", "best", "--format", "pt2", "--output", str(tmp_path)]) == 0
    assert "iteration 20\n" in capsys.readouterr().out
