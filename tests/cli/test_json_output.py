"""`--format json`: one document on standard output, of results and of errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from warpworld.cli.main import main

SMALL = ["trainer.num_envs=4", "trainer.num_steps=8", "trainer.total_env_steps=64", "trainer.device=cpu"]
BROKEN = """\
#include <warpworld.cuh>
extern "C" __global__ void step(float* observations) {
  observations[agent_index()] = nothing;
}
"""
DECLARED = """\
from gymnasium.spaces import Box, Discrete
from warpworld import Environment, Group

class Broken(Environment):
    source = "broken.cu"

    def groups(self):
        return [Group("agent", 1, Box(0, 1, (1,)), Discrete(2))]

    def phases(self):
        return ["step"]

    def resets(self):
        return []
"""


def document(capsys: pytest.CaptureFixture[str]) -> Any:
    """What was printed on standard output, which must be one JSON document."""
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "one"
    assert main(["train", "chain", "--run", str(folder), *SMALL]) == 0
    return folder


@pytest.mark.cpu_backend
def test_training_ends_with_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--run", str(tmp_path / "run"), "--format", "json"]
    assert main(["train", "chain", *words, *SMALL]) == 0
    printed = document(capsys)
    assert (printed["run"], printed["state"], printed["env_steps"]) == (str(tmp_path / "run"), "finished", 64)
    assert main(["train", "chain", *words, *SMALL]) == 0  # finished before
    assert document(capsys) == printed


@pytest.mark.cpu_backend
def test_an_evaluation_has_the_numbers_of_each_policy(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(run), "--episodes", "8", "--format", "json"]) == 0
    printed = document(capsys)
    assert main(["eval", str(run), "--episodes", "8"]) == 0
    text = capsys.readouterr().out
    assert f"{printed['policies']['agent']['mean_return']:.2f}" in text
    assert set(printed["policies"]["agent"]) >= {"mean_return", "confidence", "random_return", "episodes"}


@pytest.mark.cpu_backend
def test_runs_are_compared_with_what_differs(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other"
    assert main(["train", "chain", "--run", str(other), *SMALL, "trainer.seed=7"]) == 0
    capsys.readouterr()
    assert main(["compare", str(run), str(other), "--format=json"]) == 0
    printed = document(capsys)
    assert [each["run"] for each in printed["runs"]] == [str(run), str(other)]
    assert printed["differing"]["trainer.seed"] == ["1", "7"]


def test_an_error_is_a_document_and_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "chain", "trainer.sead=3", "--format", "json"]) == 2
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert (error["kind"], error["status"]) == ("ConfigError", 2)
    assert err == f"error: {error['message']}\n"
    assert error["message"].endswith("Did you mean 'seed'?")


@pytest.mark.cpu_backend
def test_an_error_of_a_kernel_has_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.cu").write_text(BROKEN)
    (tmp_path / "broken.py").write_text(DECLARED)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "broken.py", "--format", "json"]) == 2
    error = document(capsys)["error"]
    assert (error["kind"], Path(error["file"]).name, error["line"]) == ("BuildError", "broken.cu", 3)


def test_words_that_cannot_be_parsed_are_a_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["eval", "runs/none", "--episodes", "many", "--format", "json"]
    monkeypatch.setattr("sys.argv", ["warpworld", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    error = document(capsys)["error"]
    assert (error["kind"], error["status"]) == ("UsageError", 2)
    assert "--episodes" in error["message"]


def test_a_key_that_is_wrong_in_a_file_has_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.yaml").write_text("name: chain\ntrainer: {num_envs: x}\n")
    assert main(["train", str(tmp_path / "bad.yaml"), "--forma", "json"]) == 2  # as far as argparse reads options
    error = document(capsys)["error"]
    assert (error["file"], error["line"]) == (str(tmp_path / "bad.yaml"), 2)


def test_an_interruption_is_a_document(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("warpworld.config.load_config", interrupted)
    assert main(["train", "chain", "--format=json"]) == 130
    assert document(capsys)["error"] == {"kind": "KeyboardInterrupt", "message": "interrupted", "status": 130}


def test_json_is_of_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "chain", "--seeds", "2", "--format", "json"])
    assert "--format json is for a single run, and --seeds trains several" in capsys.readouterr().err
