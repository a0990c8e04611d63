"""The run folder: whole or absent, and readable again; and the curve drawn from it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from tests.chase import TEXT
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.errors import ConfigError, RunError
from warpworld.runs import Run
from warpworld.runs.curve import draw_curves
from warpworld.runs.metrics.metric_files import read_metrics

STATE = {"iteration": 3, "weights": {"w": torch.arange(6.0).reshape(2, 3)}, "name": "chase", "rates": [0.1, None]}


@pytest.fixture
def config() -> RunConfig:
    return config_from_dict(yaml.safe_load(TEXT.replace("1e-3", "0.001")))


@pytest.fixture
def run(config: RunConfig, tmp_path: Path) -> Run:
    return Run.create(config, tmp_path / "runs")


def test_create_and_open(config: RunConfig, tmp_path: Path) -> None:
    run = Run.create(config, tmp_path / "deep" / "runs")
    assert run.path.parent == tmp_path / "deep" / "runs"
    assert re.fullmatch(r"tests_chase_Chase-\d{8}-\d{6}", run.path.name)
    assert load_config(run.path / "config.yaml") == config
    assert Run.open(run.path).config == config
    assert [entry.name for entry in run.path.parent.iterdir()] == [run.path.name]


def test_directory_comes_from_the_config(config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Run.create(config).path.parent == Path("runs")


def test_runs_of_one_second_get_names_of_their_own(
    config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpworld.runs.run.time.strftime", lambda _: "20260102-030405")
    names = [Run.create(config, tmp_path).path.name for _ in range(3)]
    assert names == [f"tests_chase_Chase-20260102-030405{end}" for end in ("", "-2", "-3")]


def test_create_where_nothing_can_be_written(config: RunConfig, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        RunError, match=r"^no run folder can be made in '.*/file': .* name another folder with saving.directory="
    ):
        Run.create(config, tmp_path / "file")
    with pytest.raises(RunError, match=r"Not a directory"):
        Run.create(config, tmp_path / "file" / "below")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_create_in_a_read_only_folder(config: RunConfig, tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(RunError, match="Permission denied"):
            Run.create(config, tmp_path)
    finally:
        tmp_path.chmod(0o755)


def test_a_folder_whose_config_cannot_be_written_does_not_appear(
    config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(RunError, match="No space left on device"):
        Run.create(config, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_open_what_is_no_run(run: Run, tmp_path: Path) -> None:
    with pytest.raises(
        RunError, match=rf"'{run.path}x' does not exist, expected a run folder. Did you mean '{run.path.name}'"
    ):
        Run.open(f"{run.path}x")
    with pytest.raises(RunError, match=rf"'{run.path.parent}' holds no config.yaml, .* Did you mean '{run.path}'\?"):
        Run.open(run.path.parent)
    with pytest.raises(RunError, match=r"config.yaml' is a file, expected a run folder"):
        Run.open(run.path / "config.yaml")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunError, match=r"holds no config.yaml, expected a run folder such as 'warpworld train' makes"):
        Run.open(tmp_path / "empty")


def test_open_a_run_whose_config_was_broken(run: Run) -> None:
    (run.path / "config.yaml").write_text("name: [\n")
    with pytest.raises(ConfigError, match=r"config.yaml, line 2: YAML syntax error"):
        Run.open(run.path)


def test_metrics_are_lines_of_json(run: Run) -> None:
    run.log({"iteration": 1, "loss": float("nan"), "speed": np.float32(2.5), "tensor": torch.tensor(3), "none": None})
    assert run.metrics_path.read_text() == '{"iteration": 1, "loss": null, "speed": 2.5, "tensor": 3, "none": null}\n'
    run.log({"loss": float("-inf"), "nested": {"a": [1, float("nan")]}, "done": np.bool_(True)})
    run.close()
    run.log({"iteration": 3})
    lines = [json.loads(line) for line in run.metrics_path.read_text().splitlines()]
    assert lines[1:] == [{"loss": None, "nested": {"a": [1, None]}, "done": True}, {"iteration": 3}]


def test_metrics_that_cannot_be_written(run: Run) -> None:
    run.metrics_path.mkdir()
    with pytest.raises(RunError, match=r"metrics.jsonl' cannot be written: Is a directory"):
        run.log({"iteration": 1})


@pytest.mark.parametrize("text", ["5", '{"a": 1}', "[5]", "{", "null", "", "\x00"])
def test_a_list_of_sessions_that_is_none_is_set_aside(run: Run, caplog: pytest.LogCaptureFixture, text: str) -> None:
    path = run.path / "machine.json"
    path.write_text(text)
    for cores in (1, 2):
        run.add_session({"cores": cores})
    assert json.loads(path.read_text()) == [{"cores": 1}, {"cores": 2}]
    assert (run.path / "machine.json.damaged").read_text() == text
    assert len(caplog.records) == 1
    assert "machine.json' is not a JSON list of sessions; it is kept as machine.json.damaged" in caplog.text


def test_checkpoints(run: Run) -> None:
    assert run.checkpoints() == []
    for iteration in (0, 12, 3, 1_000_000):
        path = run.save_checkpoint(iteration, STATE | {"iteration": iteration})
        assert path == run.checkpoint_path(iteration)
    assert run.checkpoint_path(12).name == "iteration_000012.pt"
    assert run.checkpoints() == [0, 3, 12, 1_000_000]
    assert Run.open(run.path).load_checkpoint()["iteration"] == 1_000_000
    state = run.load_checkpoint(3)
    assert torch.equal(state["weights"]["w"], STATE["weights"]["w"])  # type: ignore[index]
    assert (state["name"], state["rates"]) == ("chase", [0.1, None])
    assert len(list((run.path / "checkpoints").iterdir())) == 4  # nothing temporary is left


def test_a_checkpoint_that_cannot_be_written_leaves_the_last_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.save_checkpoint(1, {"iteration": 1})

    def fail(state: Any, file: Any) -> None:
        file.write(b"half of it")
        raise RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed\nC++ frames")

    monkeypatch.setattr(torch, "save", fail)
    for iteration in (1, 2):
        with pytest.raises(RunError, match=r"'.*_00000\d.pt' cannot be written: PytorchStreamWriter failed [^\n]*$"):
            run.save_checkpoint(iteration, {})
    assert [entry.name for entry in (run.path / "checkpoints").iterdir()] == ["iteration_000001.pt"]
    assert run.load_checkpoint() == {"iteration": 1}


def test_no_checkpoint(run: Run) -> None:
    with pytest.raises(RunError, match=r"has no checkpoint; its training ended before the first was written"):
        run.load_checkpoint()
    run.save_checkpoint(5, {})
    run.save_checkpoint(10, {})
    with pytest.raises(RunError, match=r"has no checkpoint of iteration 9, the nearest is 10$"):
        run.load_checkpoint(9)


@pytest.mark.parametrize("damage", ["empty", "truncated", "text", "pickle", "flipped", "folder"])
def test_damaged_checkpoint(run: Run, damage: str) -> None:
    run.save_checkpoint(1, STATE)
    path = run.save_checkpoint(2, STATE)
    raw = path.read_bytes()
    if damage == "flipped":
        name = raw.index(b"data.pkl") + 200
        path.write_bytes(raw[:name] + bytes(byte ^ 255 for byte in raw[name : name + 40]) + raw[name + 40 :])
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        contents = {"empty": b"", "truncated": raw[: len(raw) // 2], "text": b"hello", "pickle": b"\x80\x04N."}
        path.write_bytes(contents[damage])
    with pytest.raises(
        RunError, match=r"iteration_000002.pt' .*; iteration 1 has one as well: --checkpoint 1$"
    ) as caught:
        run.load_checkpoint()
    assert "\n" not in str(caught.value)
    assert run.load_checkpoint(1)["iteration"] == 3


def test_a_checkpoint_with_one_wrong_bit(run: Run) -> None:
    """Wherever the bit is: what loads is what was saved."""
    path = run.save_checkpoint(1, STATE)
    raw = path.read_bytes()
    refused = 0
    for position in range(0, len(raw), 3):
        damaged = bytearray(raw)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        try:
            state = run.load_checkpoint()
        except RunError:
            refused += 1
        else:
            assert torch.equal(state.pop("weights")["w"], STATE["weights"]["w"])  # type: ignore[index]
            assert state == {key: value for key, value in STATE.items() if key != "weights"}
    assert refused > 100
    weights = raw.index(STATE["weights"]["w"].numpy().tobytes())  # type: ignore[index]
    path.write_bytes(raw[: weights + 4] + b"\xff" + raw[weights + 5 :])
    with pytest.raises(RunError, match=r"iteration_000001.pt' cannot be read: its checksum is wrong, at '.*/data/0'$"):
        run.load_checkpoint()


def test_checkpoint_with_foreign_contents(run: Run) -> None:
    """Torch's own message advises ``weights_only=False``, which would run what the file names."""
    path = run.checkpoint_path(1)
    for what, name in ((os.getcwd, "posix.getcwd"), (np.zeros(2), r"numpy\.[\w.]+"), (Path(), r"pathlib[\w.]+")):
        torch.save({"code": what}, path)
        message = (
            rf"^checkpoint '{path}' cannot be read: it holds the Python object {name}, expected tensors, numbers, "
        )
        with pytest.raises(RunError, match=rf"{message}texts, lists and dicts$"):
            run.load_checkpoint()
    torch.save([1, 2], run.checkpoint_path(2))
    with pytest.raises(RunError, match=r"holds list, expected a dict"):
        run.load_checkpoint()


def test_curves(run: Run) -> None:
    for iteration in range(1, 4):
        run.log(
            {
                "iteration": iteration,
                "env_steps": iteration * 1000,
                "charts/chaser/episodic_return": iteration * 0.5 if iteration > 1 else None,
                "charts/evader/episodic_return": float("nan"),
                "charts/episodic_length": 30 - iteration,
            }
        )
    with run.metrics_path.open("a") as file:
        file.write('{"iteration": 4, "env_st')  # cut off by a crash
    assert len(read_metrics(run.metrics_path).rows) == 3
    path = draw_curves(run.metrics_path, run.curve_path)
    assert path == run.curve_path
    assert path.read_bytes().startswith(b"\x89PNG")
    assert not list(run.path.glob(".*.tmp"))


def test_curves_of_a_run_without_episodes(run: Run) -> None:
    run.log({"iteration": 1, "env_steps": 10})
    assert draw_curves(run.metrics_path, run.curve_path).stat().st_size > 1000


def test_curves_that_cannot_be_drawn(run: Run) -> None:
    with pytest.raises(RunError, match=r"metrics.jsonl' cannot be read: No such file"):
        draw_curves(run.metrics_path, run.curve_path)
    run.log({"env_steps": 1})
    with pytest.raises(RunError, match=r"curve.png' cannot be written: No such file"):
        draw_curves(run.metrics_path, run.path / "nowhere" / "curve.png")
