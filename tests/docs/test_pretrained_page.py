"""docs/pretrained.md: what it shows is what is run."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.docs.pages import blocks, page
from warpworld.cli.main import main
from warpworld.runs import Run

pytestmark = pytest.mark.cpu_backend

SHORT = ["trainer.device=cpu", "trainer.num_envs=16", "trainer.num_steps=16", "trainer.total_env_steps=512"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder, without a display."""
    monkeypatch.chdir(tmp_path)
    for variable in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(variable, raising=False)


def commands(number: int) -> list[list[str]]:
    """The commands of a block, without the name of the program."""
    lines = (shlex.split(line, comments=True) for line in blocks(page("pretrained"), "sh")[number].splitlines())
    return [words[1:] for words in lines if words]


@pytest.mark.long
def test_policies_are_played() -> None:
    more = (["--steps", "3"], ["--episodes", "2"], ["env.episode_length=3"])
    for words, added in zip(commands(0), more, strict=True):
        assert main([*words, *added]) == 0
    assert {path.name for path in Path().iterdir()} == {"replay.html", "replay.gif", "duel.csv"}


def test_the_demo_s_files(monkeypatch: pytest.MonkeyPatch) -> None:
    from warpworld.cli import demo

    games = tuple(demo.Game(game.pretrained, game.about, 2) for game in demo.GAMES)
    monkeypatch.setattr(demo, "GAMES", games)
    words = commands(1)[1]
    assert main(words) == 0
    shown = page("pretrained")
    for path in Path("warpworld-demo").iterdir():
        assert path.name in shown


def test_from_python() -> None:
    (code,) = blocks(page("pretrained"), "python")
    found: dict[str, object] = {}
    exec(code.replace("range(400)", "range(3)"), found)
    assert tuple(found["world"]["timestep"].tolist()) == (3,) * 8  # type: ignore[index]


@pytest.mark.heavy
@pytest.mark.parametrize("number", [0, 1, 2], ids=["weights", "opponent", "evaluation"])
def test_in_a_training(number: int, tmp_path: Path) -> None:
    words = commands(2)[number]
    few = ["policy.*.num_minibatches=1"]
    few += ["saving.eval_episodes=2", "saving.eval_every=2", "env.episode_length=20"] if number == 2 else []
    few += ["fighter.self_play.slots=2"] if number else []
    assert main([*words, *SHORT, *few]) == 0
    (path,) = (tmp_path / "runs").iterdir()
    run = Run.open(path)
    if number == 0:
        assert "initial_weights: pretrained:overcooked" in run.config_path.read_text()
    if number == 1:
        assert (run.opponents_folder / "fighter-opponent-1.pt").is_file()
    if number == 2:
        assert "eval/fighter/drawn_return/pretrained:deathmatch" in run.metrics_path.read_text()
