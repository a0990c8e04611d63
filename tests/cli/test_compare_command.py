"""`warpworld compare`, and `warpworld report` of several runs: labels that say what differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.test_summaries import logged
from warpworld.cli.main import main


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two runs that differ by their seed, of which the second has logged no return."""
    monkeypatch.chdir(tmp_path)
    names = []
    for seed, returns in ((1, [20.0, 30.0, 25.0]), (2, [None])):
        run = logged(tmp_path / "runs", returns, f"seed={seed}")  # type: ignore[arg-type]
        run.close()
        run.path.rename(tmp_path / "runs" / f"run-{seed}")
        names.append(f"runs/run-{seed}")
    return names


def test_two_runs(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *pair]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "                    seed 1     seed 2",
        "run                 run-1      run-2",
        "state               stopped    stopped",
        "env steps           96 of 192  32 of 192",
        "agent: last return  25.00      -",
        "agent: best return  30.00      -",
        "trainer.seed        1          2",
    ]


def test_one_run(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["compare", pair[0]])
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith("warpworld compare: error: expected at least two run folders\n")


def test_a_run_that_is_damaged(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path(pair[1], "config.yaml").write_text("name: 3\n")
    assert main(["compare", *pair]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[2].split() == ["state", "stopped", "unreadable"]
    assert err == "runs/run-2/config.yaml, line 1: name is 3, expected a text\n"


def test_a_folder_that_is_no_run(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", pair[0], "runs"]) == 2
    assert capsys.readouterr().err == (
        "error: 'runs' holds no config.yaml, expected a run folder. Did you mean 'runs/run-2'?\n"
    )


def test_a_report_of_several_runs_lies_beside_them(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *pair]) == 0
    assert capsys.readouterr().out == "runs/report.html\n"
    assert "seed 1, seed 2: their curves overlaid" in Path("runs/report.html").read_text()


def test_a_report_of_runs_from_two_folders_lies_here(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("others").mkdir()
    Path(pair[1]).rename("others/run-2")
    assert main(["report", pair[0], "others/run-2"]) == 0
    assert capsys.readouterr().out == "report.html\n"
