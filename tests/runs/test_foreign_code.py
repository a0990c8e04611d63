"""A run folder from a stranger: a report imports nothing that it names, and other commands say what they import."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.report.recorded_worlds import Drawn, config_of, run_of
from warpworld.cli.main import main
from warpworld.config import config_from_dict
from warpworld.config.saved import foreign_code
from warpworld.errors import RunError
from warpworld.report.replay import read_replay
from warpworld.runs import Run, RunFolder
from warpworld.trainers.trainer import Trainer

TRAP = """
import sys
from pathlib import Path

from tests.report.recorded_worlds import Drawn

Path(__file__).with_name("marker").touch()
print("imported", file=sys.stderr)


class Trap(Drawn):
    pass
"""
MODELS = """
from pathlib import Path

from warpworld.policies import MLP

Path(__file__).with_name("marker").touch()


class Net(MLP):
    pass
"""


def forget(folder: Path) -> None:
    """Let the next import run the code again."""
    for name in ("trap", "trap_models"):
        sys.modules.pop(name, None)
    (folder / "marker").unlink(missing_ok=True)


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """A run of an environment and a model that lie beside it, which leave a marker where they are imported."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    (tmp_path / "trap.py").write_text(TRAP)
    (tmp_path / "trap_models.py").write_text(MODELS)
    data = config_of(Drawn).to_dict()
    data["name"] = str(tmp_path / "trap.py")
    data["policy"]["left"]["model"]["type"] = "trap_models:Net"
    data["saving"]["directory"] = str(tmp_path / "runs")
    run = Trainer(config_from_dict(data)).create_run()
    assert run is not None
    run.log({"iteration": 1, "env_steps": 8, "charts/left/episodic_return": 5.0})
    run.close()
    assert (tmp_path / "marker").exists()
    forget(tmp_path)
    capsys.readouterr()
    yield run
    forget(tmp_path)


def test_a_report_imports_nothing(stranger: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(stranger.path)]) == 0
    assert not (tmp_path / "marker").exists()
    assert capsys.readouterr().out == (
        f"no replay: recording one runs {tmp_path}/trap.py, module trap_models ({tmp_path}/trap_models.py), and a "
        f"report runs no code from outside warpworld unless it is asked to: --replay\n{stranger.path}/report.html\n"
    )
    page = (stranger.path / "report.html").read_text()
    assert "A run of trap that trained left (ppo), right (ppo) in 2 envs, seed 1: 8 of 80 env steps." in page
    assert "trap_models:Net" in page
    assert page.count('class="line c0"') == 1


def test_a_report_shows_the_replay_that_was_saved(
    stranger: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["watch", str(stranger.path), "--no-gif"]) == 0
    forget(tmp_path)
    capsys.readouterr()
    assert main(["report", str(stranger.path)]) == 0
    assert not (tmp_path / "marker").exists()
    assert "no replay" not in capsys.readouterr().out
    page = (stranger.path / "report.html").read_text()
    assert f'<div class="replay"><script type="application/json">{read_replay(stranger.replay_path)}</script>' in page


def test_a_report_records_where_it_is_asked_to(stranger: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--replay", str(stranger.path)]) == 0
    assert_announced(stranger, capsys.readouterr().err)
    assert 'class="replay"' in (stranger.path / "report.html").read_text()


@pytest.mark.parametrize(
    "command",
    [
        ["eval", "--episodes", "2"],
        ["watch", "--no-gif"],
        ["league", "--episodes", "1", "--members", "1"],
        ["train", "--stop-at", "1", "--resume"],
    ],
)
def test_others_say_what_they_import_before_they_do(
    stranger: Run, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, str(stranger.path)]) == 0
    assert_announced(stranger, capsys.readouterr().err)


def assert_announced(run: Run, err: str) -> None:
    folder = run.path.parent.parent
    line = f"loads code from outside warpworld: {folder}/trap.py, module trap_models ({folder}/trap_models.py)"
    assert err.splitlines()[:2] == [f"run '{run.path}' {line}", "imported"]


def test_weights_of_a_run_are_taken_without_its_code(stranger: Run, tmp_path: Path) -> None:
    data = config_of(Drawn).to_dict()
    for name in data["policy"]:
        data["policy"][name]["initial_weights"] = str(stranger.path)
    Trainer(config_from_dict(data))
    assert not (tmp_path / "marker").exists()


def test_packaged_runs_are_played_and_nothing_is_said(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["eval", "--episodes", "4"], ["report"]):
        assert main([*command, str(run.path)]) == 0
    assert "outside" not in "".join(capsys.readouterr())
    assert 'class="replay"' in (run.path / "report.html").read_text()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("name: cartpole", []),
        ("name: warpworld.envs.cartpole:CartPole", []),
        ("name: walk.py", ["{folder}/walk.py"]),
        ("name: ../walk.py:Walk", ["{parent}/walk.py"]),
        ("name: nowhere.inner:Walk", ["module nowhere.inner"]),
        ("name: tests.nowhere:Walk", ["module tests.nowhere"]),
        (f"name: {Drawn.__module__}:Drawn", [f"module {Drawn.__module__} ({sys.modules[Drawn.__module__].__file__})"]),
        ("name: warpworldly:Walk", ["module warpworldly"]),
        ("name: cartpole\npolicy: {a: {algorithm: 'x:A'}, b: {model: {type: 'x:B'}}, c: }", ["module x"]),
        ("name: cartpole\npolicy: {a: {algorithm: ppo, model: {type: mlp}}}", []),
        (
            "name: cartpole\nsaving: {loggers: [tensorboard, 'x:A', 'x:B', 'warpworld.runs.loggers:MLflow']}",
            ["module x"],
        ),
        ("name: cartpole\nsaving: {loggers: [1, {a: 'x:A'}]}", []),
        ("name: cartpole\nsaving: {loggers: 'x:A'}\n", []),
        ("name: [1]\npolicy: [1]", []),  # wrong, which loading says
        ("name: cartpole\npolicy: {a: 1, b: {model: 1, algorithm: 1}}", []),
    ],
)
def test_what_is_foreign(settings: str, expected: list[str], tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(settings)
    assert foreign_code(path) == [text.format(folder=tmp_path, parent=tmp_path.parent) for text in expected]


# --- reports of what cannot be loaded any more ------------------------------------------------------------------------


def test_a_report_of_an_environment_that_is_gone(stranger: Run, tmp_path: Path) -> None:
    (tmp_path / "trap.py").unlink()
    assert main(["report", str(stranger.path)]) == 0
    assert "8 of 80 env steps" in (stranger.path / "report.html").read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("name:", "nam:"), ": name is missing"),
        (lambda text: text.replace("num_envs: 2", "num_envs: many"), ": trainer.num_envs is 'many', expected a whole"),
        (lambda text: text[: text.index("policy:")], ": policy is missing"),
        (lambda text: f"{text[: text.index('policy:')]}policy: 3\n", ": policy is 3, expected a section"),
        (lambda text: "[", ": YAML syntax error"),
    ],
)
def test_a_report_of_what_is_no_config(
    stranger: Run, change: Callable[[str], str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stranger.config_path
    path.write_text(change(path.read_text()))
    assert main(["report", "--no-replay", str(stranger.path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {path}")
    assert message in err
    assert err.count("\n") == 1


# --- replays read back ------------------------------------------------------------------------------------------------


def page_of(path: Path, text: str) -> Path:
    path.write_text(f'<div class="replay"><script type="application/json">{text}</script></div>')
    return path


def test_a_page_written_by_somebody_else_brings_no_scripts(tmp_path: Path) -> None:
    path = page_of(tmp_path / "x.html", json.dumps({"frames": [], "title": "</SCRIPT><script>alert(1)"}))
    text = read_replay(path)
    assert "<" not in text
    assert json.loads(text)["title"] == "</SCRIPT><script>alert(1)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "holds no replay, expected a page that `warpworld watch` wrote"),
        ("[1]", "holds no replay, expected a page that `warpworld watch` wrote"),
        ("{", r"cannot be read: Expecting property name"),
        ('{"frames": NaN}', "cannot be read: Out of range float values"),
    ],
)
def test_a_page_that_holds_no_replay(text: str, message: str, tmp_path: Path) -> None:
    path = page_of(tmp_path / "x.html", text)
    with pytest.raises(RunError, match=rf"^'{path}' {message}"):
        read_replay(path)
    path.write_text("<html></html>")
    with pytest.raises(RunError, match=r"x.html' holds no replay"):
        read_replay(path)


def test_a_folder_is_opened_without_its_config(tmp_path: Path) -> None:
    run = run_of(Drawn, tmp_path, checkpoints=(0, 7))
    (run.path / "config.yaml").write_text("[")
    assert RunFolder.open(run.path).checkpoints() == [0, 7]
