"""The commands `watch` and `report`: what they write, print and refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from tests.report.recorded_worlds import Drawn, Plain, run_of
from warpworld.cli.main import main


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_run_is_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(Drawn, tmp_path, checkpoints=(0, 7))
    before = names(run.path)
    assert main(["watch", str(run.path), "--episodes", "2", "--seed", "3"]) == 0
    out = capsys.readouterr().out
    assert "tests.report.recorded_worlds:Drawn, iteration 7, actions drawn, seed 3: 2 episodes of 6 steps in all" in out
    assert f"{run.path}/replay.html\n{run.path}/replay.gif\n" in out
    assert names(run.path) - before == {"replay.html", "replay.gif"}
    assert "iteration 7, actions drawn, seed 3" in (run.path / "replay.html").read_text()
    with Image.open(run.path / "replay.gif") as gif:
        assert gif.n_frames == 8


def test_some_steps_are_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Episodes of ``Drawn`` have three steps; the second is cut, and a recording may end with an episode's end."""
    run = run_of(Drawn, tmp_path, checkpoints=(0,))
    for steps, end in (("5", "2 episodes of 5 steps in all; the last is unfinished"), ("3", "1 episode of 3 steps")):
        assert main(["watch", str(run.path), "--episodes", "9", "--steps", steps, "--no-gif"]) == 0
        assert capsys.readouterr().out.splitlines()[0].endswith(f": {end}")
    assert main(["watch", str(run.path / "config.yaml"), "--steps", "2", "--no-gif"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(": 1 episode of 2 steps; the last is unfinished")


def test_one_run_is_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("runs/a-1", "runs/a-2"):
        (tmp_path / name).mkdir(parents=True)
    assert main(["watch", "runs/a-1", "runs/a-2", "env.length=5"]) == 2
    message = "error: 2 run folders are named, expected one; the last of them: runs/a-2\n"
    assert capsys.readouterr().err == message


def test_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(Plain, tmp_path, checkpoints=(0, 7))
    before = names(run.path)
    words = ["env.length=5", "--checkpoint", "0", "--greedy", "--no-gif", "--output", "new/folder"]
    assert main(["watch", str(run.path), *words]) == 0
    out = capsys.readouterr().out
    assert "iteration 0, likeliest actions, seed 0: 1 episode of 5 steps\n" in out
    assert "tests.report.recorded_worlds:Plain has no draw(): its arrays' values are shown" in out
    assert names(tmp_path / "new" / "folder") == {"replay.html"}
    assert names(run.path) == before


def test_a_run_without_a_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(Drawn, tmp_path, checkpoints=())
    assert main(["watch", str(run.path)]) == 0
    assert "no checkpoint yet, random actions, seed 0: 1 episode of 3 steps" in capsys.readouterr().out
    assert main(["report", str(run.path)]) == 0
    assert "Replay" not in (run.path / "report.html").read_text().partition("<main>")[2].partition("<script>")[0]


def test_a_config_is_played_at_random(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "cartpole", "trainer.device=cpu", "--no-gif"]) == 0
    assert "cartpole, random actions, seed 0: 1 episode of " in capsys.readouterr().out
    assert names(tmp_path) == {"replay.html"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["watch", "cartpole", "--greedy"], "'cartpole' is a config, which is played at random"),
        (["watch", "cartpole", "--checkpoint", "1"], "--checkpoint, --greedy and --simulations need a run folder"),
        (["watch", "nowhere"], "'nowhere' does not exist, expected a run folder"),
        (["watch", "cartpole", "env.lenth=3"], "env.lenth"),
        (["report", "nowhere"], "'nowhere' does not exist, expected a run folder"),
    ],
)
def test_mistakes(words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert message in capsys.readouterr().err
    assert names(tmp_path) == set()


def test_mistakes_about_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(Drawn, tmp_path)
    before = names(run.path)
    assert main(["watch", str(run.path), "--checkpoint", "3"]) == 2
    assert "no checkpoint of iteration 3, the nearest is 0" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["watch", str(run.path), "--output", str(tmp_path / "file")]) == 2
    assert "file' cannot be made: File exists" in capsys.readouterr().err
    assert names(run.path) == before


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder here that refuses files")
def test_a_folder_that_cannot_be_written_is_found_before_anything_is_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir("/proc")
    monkeypatch.setattr("warpworld.report.record_run", lambda *_, **__: pytest.fail("it was played"))
    assert main(["watch", "--pretrained", "connect_four"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "folder '/proc' cannot be written: " in line and line.endswith("name another one with its option")


def test_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = run_of(Plain, tmp_path / "a"), run_of(Drawn, tmp_path / "b")
    assert main(["report", "--replay", str(first.path)]) == 0
    assert capsys.readouterr().out == f"{first.path}/report.html\n"
    assert (first.path / "report.html").read_text().count('class="replay"') == 1
    assert main(["report", str(first.path), str(second.path), "--output", "both/page.html", "--no-replay"]) == 0
    assert (tmp_path / "both" / "page.html").read_text().count('class="replay"') == 0


def test_a_report_does_not_fail_for_a_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(Drawn, tmp_path)
    run.checkpoint_path(0).write_bytes(b"torn")
    assert main(["report", "--replay", str(run.path)]) == 0
    assert "no replay: checkpoint" in capsys.readouterr().out
    assert (run.path / "report.html").is_file()
