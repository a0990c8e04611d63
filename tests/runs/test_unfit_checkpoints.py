"""Checkpoints that do not fit the run that they lie in: each is refused by name, and the folder is as it was."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.runs.resuming import changed, resumed
from warpworld.config import RunConfig, load_config
from warpworld.errors import ConfigError, RunError
from warpworld.runs import Run
from warpworld.trainers.trainer import Trainer


def foreign(run: Run, **replaced: Any) -> None:
    """Replace parts of the newest checkpoint."""
    run.save_checkpoint(3, {**run.load_checkpoint(), **replaced})


def test_a_checkpoint_of_other_sizes(run: Run, config: RunConfig) -> None:
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    message = (
        rf"^run '{run.path}' cannot be resumed: array 'observations' is float32 \(4, 1, 4\) in the snapshot, "
        r"float32 \(8, 1, 4\) in this world: the snapshot comes from another world$"
    )
    with pytest.raises(
        RunError, match=r"trainer.num_envs was 4 when it was saved and is 8 in config.yaml; put it back"
    ):
        resumed(run, changed(config, "trainer", num_envs=8))
    foreign(run, config=changed(config, "trainer", num_envs=8).to_yaml(), env_steps=3 * 64)
    before[run.checkpoint_path(3)] = run.checkpoint_path(3).read_bytes()
    with pytest.raises(RunError, match=message):
        resumed(run, changed(config, "trainer", num_envs=8))
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before


def test_a_checkpoint_of_another_environment(run: Run, tmp_path: Path) -> None:
    words = ["trainer.num_envs=4", "trainer.num_steps=10", "trainer.total_env_steps=120"]
    other = Trainer(load_config("tag_gridworld", words))
    foreign(run, config=other.config.to_yaml())
    with pytest.raises(RunError, match=r"the checkpoint has no policy 'tagger', only 'agent'$"):
        other.resume(run)
    foreign(run, policies=other.state_dict()["policies"], layout=other.world.data.layout(), config=run.config.to_yaml())
    with pytest.raises(RunError, match=r"the checkpoint has no policy 'agent', only 'tagger', 'runner'$"):
        resumed(run)


def test_a_checkpoint_of_another_network(run: Run) -> None:
    policies = run.load_checkpoint()["policies"]
    name, weight = next((key, value) for key, value in policies["agent"].items() if value.dim() == 2)
    policies["agent"][name] = torch.zeros(3, 7)
    foreign(run, policies=policies)
    rows, columns = weight.shape
    with pytest.raises(
        RunError,
        match=rf"policy 'agent': {name} has shape \(3, 7\) in the checkpoint, \({rows}, {columns}\) in the policy",
    ):
        resumed(run)


def test_an_array_that_is_missing_or_stands_twice(run: Run) -> None:
    layout = run.load_checkpoint()["layout"]
    foreign(run, layout=[entry for entry in layout if entry[0] != "clock"])
    with pytest.raises(RunError, match=r"array 'clock' is missing in the snapshot, uint64 \(4,\) in this world"):
        resumed(run)
    foreign(run, layout=[*layout, layout[0]])
    with pytest.raises(RunError, match="the snapshot lists an array twice; something other than warpworld wrote"):
        resumed(run)


def test_a_checkpoint_of_an_older_version(run: Run) -> None:
    state = run.load_checkpoint()
    run.save_checkpoint(3, {key: state[key] for key in ("iteration", "env_steps", "policies", "learners", "store")})
    with pytest.raises(RunError, match=r"lacks seconds, config, generator, .*: another version of warpworld wrote it$"):
        resumed(run)


@pytest.mark.parametrize("counters", [{"iteration": 10**9}, {"iteration": 2}, {"env_steps": 97}])
def test_counters_that_no_run_has(run: Run, counters: dict[str, int]) -> None:
    foreign(run, **counters)
    iteration, env_steps = (counters.get("iteration", 3), counters.get("env_steps", 96))
    message = (
        rf"^run '{run.path}' cannot be resumed: it was saved after {iteration:,} iterations and {env_steps:,} env "
        "steps, but an iteration of this run has 32 env steps: something other than warpworld wrote or changed it; "
        "remove that checkpoint to continue from an older one$"
    )
    trainer = Trainer(run.config)
    with pytest.raises(RunError, match=message):
        trainer.resume(run)
    assert trainer.iteration == 0


def test_an_iteration_beyond_the_run(run: Run) -> None:
    foreign(run, iteration=10**9, env_steps=32 * 10**9)
    message = (
        rf"^trainer.total_env_steps is 192, but run '{run.path}' has done 32,000,000,000 env steps already, "
        "expected more$"
    )
    with pytest.raises(ConfigError, match=message):
        resumed(run)


MESSAGE = r"the saved {} is .*, expected {}: something other than warpworld wrote or changed it; remove that checkpoint"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("iteration", None, MESSAGE.format("iteration", "a whole number of at least 0")),
        ("env_steps", True, MESSAGE.format("env_steps", "a whole number of at least 0")),
        ("env_steps", -32, MESSAGE.format("env_steps", "a whole number of at least 0")),
        ("seconds", float("nan"), MESSAGE.format("seconds", "a number of at least 0")),
        ("torch_threads", 0, MESSAGE.format("torch_threads", "a whole number of at least 1")),
        ("config", 5, MESSAGE.format("config", "a str")),
        ("config", "[", "the configuration in its checkpoint, line 1: YAML syntax error"),
        ("config", "5", "the configuration in its checkpoint holds only the value 5, expected"),
        ("policies", 5, MESSAGE.format("policies", "a dict")),
        ("policies", {"agent": 5}, MESSAGE.format("policy 'agent'", "a dict of tensors")),
        ("policies", {"agent": {"w": 5}}, MESSAGE.format("policy 'agent'", "a dict of tensors")),
        ("learners", {}, MESSAGE.format("learner of policy 'agent'", "a dict")),
        ("learners", {"agent": {}}, "policy 'agent': the saved learner holds nothing, expected optimizer"),
        ("learners", {"agent": 5}, MESSAGE.format("learner of policy 'agent'", "a dict")),
        ("generator", torch.zeros(3), MESSAGE.format("generator", "the state of one of torch's generators")),
        ("random", {}, MESSAGE.format("random state of cpu", "the state of one of torch's generators")),
        ("random", {"cpu": 5}, MESSAGE.format("random state of cpu", "the state of one of torch's generators")),
        ("layout", 5, MESSAGE.format("layout", "a list")),
        ("layout", [5], MESSAGE.format("layout", "lists of an array's name, dtype and shape")),
        ("store", [1], MESSAGE.format("store", "a tensor")),
        ("store", torch.zeros(3), "the snapshot has 12 bytes, this store's state arrays have"),
    ],
)
def test_a_part_of_a_checkpoint_that_is_something_else(run: Run, key: str, value: Any, message: str) -> None:
    foreign(run, **{key: value})
    trainer = Trainer(run.config)
    before = copy.deepcopy(trainer.state_dict())
    with pytest.raises(RunError, match=rf"^run '{run.path}' cannot be resumed: {message}"):
        trainer.resume(run)
    assert_same(trainer.state_dict(), before)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("state", 5),
        ("state", {0: {"step": torch.tensor(3.0)}}),
        ("state", {0: {"step": torch.tensor(3.0), "exp_avg": torch.zeros(3), "exp_avg_sq": torch.zeros(3)}}),
        ("state", {0: {"step": torch.tensor(3.0), "exp_avg": 0.0, "exp_avg_sq": 0.0}}),
        ("param_groups", []),
        ("param_groups", [{"params": [0], "lr": "fast"}]),
        ("param_groups", [{"params": [0, 1], "lr": 0.1}]),
    ],
)
def test_an_optimizer_that_is_something_else(run: Run, part: str, value: Any) -> None:
    learners = run.load_checkpoint()["learners"]
    learners["agent"]["optimizer"][part] = value
    foreign(run, learners=learners)
    trainer = Trainer(run.config)
    before = copy.deepcopy(trainer.state_dict())
    message = rf"^run '{run.path}' cannot be resumed: policy 'agent': the saved state does not fit this policy"
    with pytest.raises(RunError, match=message):
        trainer.resume(run)
    assert_same(trainer.state_dict(), before)


def test_an_optimizer_of_a_version_without_padding(run: Run) -> None:
    learners = run.load_checkpoint()["learners"]
    count = sum(weight.numel() for weight in run.load_checkpoint()["policies"]["agent"].values())
    state = learners["agent"]["optimizer"]["state"][0]
    assert len(state["exp_avg"]) > count
    state |= {name: state[name][:count].clone() for name in ("exp_avg", "exp_avg_sq")}
    foreign(run, learners=learners)
    trainer = Trainer(run.config)
    before = copy.deepcopy(trainer.state_dict())
    message = (
        "cannot be resumed: policy 'agent': the optimiser's state was saved by an older version of warpworld, which "
        "put no padding"
    )
    with pytest.raises(RunError, match=message):
        trainer.resume(run)
    assert_same(trainer.state_dict(), before)


def assert_same(found: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert_same(found[key], value)
    elif isinstance(expected, torch.Tensor):
        assert torch.equal(found, expected)
    else:
        assert found == expected


def test_a_config_that_was_edited(run: Run) -> None:
    path = run.path / "config.yaml"
    path.write_text(path.read_text().replace("gamma: 0.99", "gamma: 0.5"))
    with pytest.raises(RunError, match=r"policy.agent.gamma was 0.99 when it was saved and is 0.5 in config.yaml"):
        resumed(Run.open(run.path))
