"""tools/train_pretrained: the folder that it writes, what a score counts, and names that are unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import tools.train_pretrained as tool
from tools.pretrained_scores import Game, Pretrained, Score, scores
from warpworld.runs import Run
from warpworld.runs.pretrained import FILE, FORMAT
from warpworld.trainers import load_policies
from warpworld.trainers.play import play

pytestmark = pytest.mark.cpu_backend

TOY = Pretrained(
    "tic_tac_toe",
    tuple(Game(name, "random actions", won=True) for name in ("first", "second")),
    ("trainer.num_envs=32", "trainer.num_steps=16", "trainer.total_env_steps=1024", "trainer.device=cpu"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for pretrained policies, of which few episodes are judged."""
    monkeypatch.setattr(tool, "pretrained_folder", lambda: tmp_path)
    monkeypatch.setattr(scores, "__defaults__", (20, 1))
    return tmp_path


@pytest.mark.long
def test_a_training_becomes_a_folder_that_plays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tool.train(TOY)
    written = tool.train(TOY)  # in place of the one before
    assert {path.relative_to(written).as_posix() for path in written.rglob("*")} == {
        *("config.yaml", FILE, "checkpoints", "checkpoints/iteration_000002.pt")
    }
    run, about = Run.open(written), json.loads((written / FILE).read_text())
    assert (about["format"], about["seed"], about["env_steps"]) == (FORMAT, tool.TRAINED_WITH, 1024)
    assert about["command"].startswith("warpworld train tic_tac_toe trainer.num_envs=32 ")
    assert about["command"].endswith(f" trainer.seed={tool.TRAINED_WITH}")
    assert [score["policy"] for score in about["scores"]] == ["first", "second"]
    assert set(load_policies(run)) == {"first", "second"}


def test_scores_are_parts_of_games_won_against_random_actions(folder: Path) -> None:
    """A game of Tic-tac-toe pays 1 to who wins, and -1 to who loses: both are read from returns of the same games."""
    run = Run.open("pretrained:connect_four")
    entry = Pretrained("connect_four", tuple(Game("first", "random actions", won=won) for won in (True, False)))
    (_, won), (_, mean) = scores(run, entry, 64, 3)
    policies = load_policies(run)
    returns = play(run.config, {"first": policies["first"], "second": None}, 64, 3).returns["first"]
    assert won.mean == float((returns == 1).double().mean()) and mean.mean == float(returns.mean())
    assert won.deviation == pytest.approx(float((returns == 1).double().std()))
    at_random = play(run.config, {"first": None, "second": None}, 64, 3).returns["first"]
    assert torch.isclose(at_random.mean(), torch.tensor(mean.random, dtype=torch.float64))


def test_what_ships_is_judged_beside_its_stated_score(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scores, "__defaults__", (20, 1))
    tool.main(["--judge", "overcooked"])
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split() == ["name", "policy", "score", "against", "stated", "now"]
    stated = tool.check_format(tool.pretrained_folder() / "overcooked")["scores"][0]["mean"]
    assert line.split()[:4] == ["overcooked", "cook", "mean", "return"]
    before, now = map(float, line.split()[-2:])
    assert before == stated and abs(now - before) <= 20  # a soup


def test_the_interval_is_of_the_mean() -> None:
    assert Score(mean=1.0, deviation=2.0, random=0.0, episodes=400).confidence == pytest.approx(0.196)


def test_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tool.main(["deathmach"])
    assert capsys.readouterr().err.endswith("error: unknown: deathmach; known: " + ", ".join(tool.KNOWN) + "\n")
