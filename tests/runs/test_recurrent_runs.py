"""Runs whose policies remember, from the YAML file to eval, watch and other runs' weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.docs.pages import blocks, page
from warpworld.cli.main import main
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.errors import ConfigError, RunError
from warpworld.policies import RecurrentPolicy
from warpworld.runs import Run
from warpworld.trainers.evaluate import evaluate, load_policies
from warpworld.trainers.trainer import Trainer


def of_the_guide(tmp_path: Path) -> RunConfig:
    """The guide's example, on a small cartpole."""
    (example,) = (found for found in map(yaml.safe_load, blocks(page("learning"), "yaml")) if "policy" in found)
    data = load_config(
        "cartpole", ["trainer.num_envs=8", "trainer.num_steps=8", "trainer.total_env_steps=192"]
    ).to_dict()
    data["trainer"]["device"], data["saving"]["directory"] = "cpu", str(tmp_path)
    data["policy"]["agent"] |= example["policy"]["agent"]
    return config_from_dict(data)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    config = of_the_guide(tmp_path)
    made = Run.create(config, tmp_path)
    Trainer(config).train(made)
    made.close()
    return made


@pytest.mark.long
def test_the_guide_s_example(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.config.policy["agent"].model.recurrent == "lstm"  # type: ignore[union-attr]
    policy = load_policies(run)["agent"]
    assert isinstance(policy, RecurrentPolicy) and policy.state_size == 2 * 128
    lines = [json.loads(line) for line in run.metrics_path.read_text().splitlines()]
    assert len(lines) == 3 and all(line["losses/agent/grad_norm"] > 0 for line in lines)
    assert main(["eval", str(run.path), "--episodes", "8"]) == 0
    assert "agent" in capsys.readouterr().out
    assert main(["watch", str(run.path), "--no-gif"]) == 0
    assert (run.path / "replay.html").exists()


@pytest.mark.long
def test_a_run_that_is_resumed_by_the_command(run: Run) -> None:
    before = load_policies(run)["agent"]
    assert main(["train", "--resume", str(run.path), "trainer.total_env_steps=320"]) == 0
    again = Run.open(run.path)
    assert len(again.metrics_path.read_text().splitlines()) == 5
    after = load_policies(again)["agent"]
    assert before is not None and after is not None
    assert any(not torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))


def started_from(run: Run, **model: Any) -> Trainer:
    data = run.config.to_dict()
    data["policy"]["agent"] |= {"initial_weights": str(run.path), "train": False}
    data["policy"]["agent"]["model"] |= model
    return Trainer(config_from_dict(data))


@pytest.mark.long
def test_weights_of_another_run(run: Run) -> None:
    trained, found = load_policies(run)["agent"], started_from(run).policies["agent"]
    assert trained is not None and found is not None
    assert all(torch.equal(a, b) for a, b in zip(trained.parameters(), found.parameters(), strict=True))


@pytest.mark.long
@pytest.mark.parametrize(
    "model", [{"recurrent": None}, {"recurrent": "gru"}, {"recurrent_size": 16}, {"recurrent_layers": 2}]
)
def test_weights_of_another_memory_are_refused(run: Run, model: dict[str, Any]) -> None:
    with pytest.raises(
        RunError, match=r"initial_weights is '.*', whose weights do not fit policy 'agent': .*model settings"
    ):
        started_from(run, **model)


@pytest.mark.long
def test_a_checkpoint_of_another_memory_is_refused(run: Run, tmp_path: Path) -> None:
    data = run.config.to_dict()
    data["policy"]["agent"]["model"] |= {"recurrent_size": 16}
    with pytest.raises(
        RunError, match=r"policy\.agent\.model\.recurrent_size was 128 when it was saved and is 16 in config"
    ):
        Trainer(config_from_dict(data)).resume(run)
    with pytest.raises(RunError, match=r"policy 'agent': cell.* has shape|policy 'agent': model.* has shape"):
        Trainer(config_from_dict(data)).load_state_dict(run.load_checkpoint())


@pytest.mark.heavy
@pytest.mark.long
def test_eval_plays_with_the_memory(tmp_path: Path) -> None:
    """A cue is recalled after training, which agents that forgot at each step could not do."""
    memory = {"recurrent": "gru", "recurrent_size": 16, "recurrent_layers": 2}
    learning = {"learning_rate": 0.01, "num_minibatches": 2, "gamma": 0.9, "anneal_lr": False, "ent_coef": 0.001}
    config = config_from_dict(
        {
            "name": "tests.trainers.recall:Recall",
            "env": {"agents": 2, "episode_length": 3},
            "trainer": {"device": "cpu", "num_envs": 32, "num_steps": 12, "total_env_steps": 32 * 12 * 40},
            "policy": {"agent": {**learning, "model": {**memory, "hidden_sizes": [16]}}},
        }
    )
    run = Run.create(config, tmp_path)
    Trainer(config).train(run)
    run.close()
    found = evaluate(run, 300, greedy=True)["agent"]
    assert found["mean_return"] > 0.95 and found["random_return"] < 0.65


def test_minibatches_that_do_not_divide_the_sequences_are_named_with_their_line(tmp_path: Path) -> None:
    text = load_config("cartpole").to_yaml().replace("recurrent: null", "recurrent: lstm")
    path = tmp_path / "run.yaml"
    path.write_text(text.replace("num_minibatches: 8", "num_minibatches: 7"), encoding="utf-8")
    words = r"run.yaml, line \d+: policy.agent.num_minibatches is 7, expected a divisor of the \d+ sequences"
    with pytest.raises(ConfigError, match=words):
        load_config(path)
