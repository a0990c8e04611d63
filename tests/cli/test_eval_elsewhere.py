"""``warpworld eval RUN env.key=value`` and ``saving.eval_env``: policies play with other parameters."""

from __future__ import annotations

from typing import Any

import pytest

from tests.trainers.evaluations.evaluated import ONE
from tests.trainers.together import Unwritten
from warpworld.cli.main import main
from warpworld.config import config_from_dict, load_config
from warpworld.errors import ConfigError
from warpworld.runs import Run
from warpworld.trainers.trainer import Trainer

CONFIG: dict[str, Any] = {
    "name": "chain",
    "env": {"length": 4, "episode_length": 9},
    "trainer": {"num_envs": 4, "num_steps": 8, "total_env_steps": 64, "device": "cpu"},
    "policy": {"agent": ONE},
}
SEES = (
    "'agent' observes Box(0.0, 1.0, (6,), float32) then, and its networks were trained for Box(0.0, 1.0, (4,), float32)"
    "; expected settings that keep observations and actions as they are"
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    trainer = Trainer(config_from_dict(CONFIG))
    run = trainer.create_run(tmp_path_factory.mktemp("runs"))
    assert run is not None
    trainer.train(run)
    run.close()
    return run


@pytest.mark.parametrize("word", ["env.episode_length=1", "episode_length=1"])
def test_it_plays_with_the_parameters_given(run: Run, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing can be earned in one step from the start of the chain but what its first state pays."""
    assert main(["eval", str(run.path), "--episodes", "8", word, "--steps", "1"]) == 0
    assert "all 8 episodes ended within 1 steps of each env" in capsys.readouterr().out
    assert main(["eval", str(run.path), "--episodes", "8", "--steps", "1"]) == 0
    assert "8 of 8 episodes unfinished" in capsys.readouterr().out
    assert Run.open(run.path).config.env["episode_length"] == 9


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("env.length=6", f"command line: env.length=6: {SEES}"),
        (
            "trainer.seed=3",
            "command line, trainer.seed=3: expected a parameter of the environment, such as env.plan_seed=1000; the "
            "rest of a run stays as it was trained",
        ),
        ("env.lenght=6", "command line, env.lenght=6: env.lenght is not a known key. Did you mean 'length'?"),
    ],
)
def test_what_it_cannot_play_is_an_error(run: Run, word: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(run.path), word]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_evaluations_while_training_play_in_it() -> None:
    """An episode of one step ends where it began; training itself continues as without."""
    saving = {"eval_every": 1, "eval_episodes": 4}
    scores, states = [], []
    for eval_env in ({}, {"episode_length": 1}):
        config = config_from_dict({**CONFIG, "saving": {**saving, "eval_env": eval_env}})
        trainer, written = Trainer(config), Unwritten()
        trainer.train(written)  # type: ignore[arg-type]
        scores.append([line["eval/agent/score"] for line in written.lines if "eval/agent/score" in line])
        states.append(trainer.state_dict()["policies"]["agent"])
        assert load_of(config) == eval_env
    assert len(scores[0]) == len(scores[1]) == 2
    assert max(scores[1]) < min(scores[0])
    assert all((states[0][name] == states[1][name]).all() for name in states[0])


def load_of(config: Any) -> dict[str, Any]:
    """``eval_env`` after its way through the YAML of a run."""
    kept: dict[str, Any] = config_from_dict(config.to_dict()).saving.eval_env
    return kept


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{length: 6}", f"saving.eval_env: env.length=6: {SEES}"),
        ("{lenght: 6}", "saving.eval_env: env.lenght is not a known key. Did you mean 'length'?"),
        ("{length: x}", "saving.eval_env: env.length is 'x', expected a whole number"),
    ],
)
def test_an_environment_for_evaluations_that_cannot_be(given: str, message: str) -> None:
    word = f"saving.eval_env={given}"
    with pytest.raises(ConfigError) as error:
        load_config("chain", ["env.length=4", "saving.eval_every=1", word])
    assert str(error.value) == f"command line, {word}: {message}"
