"""`warpworld export`: which policies it writes, where, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.report.recorded_worlds import Plain, config_of
from warpworld.cli.main import main
from warpworld.config import config_from_dict
from warpworld.runs import Run
from warpworld.trainers.building import build_policies

pytestmark = pytest.mark.cpu_backend


def run_with(folder: Path, *at_random: str) -> Run:
    """A run with the policies left and right, some of which act at random, and checkpoints 0 and 7."""
    data = config_of(Plain).to_dict()
    for name in at_random:
        data["policy"][name] = {"algorithm": "random"}
    run = Run.create(config_from_dict(data), folder)
    for iteration in (0, 7):
        built = build_policies(run.config, Plain(), torch.Generator().manual_seed(iteration))
        weights = {name: policy.state_dict() for name, policy in built.items() if policy is not None}
        run.save_checkpoint(iteration, {"policies": weights})
    return run


@pytest.mark.long
def test_every_policy_that_learnt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_with(tmp_path, "right")
    assert main(["export", str(run.path), "--format", "pt2"]) == 0
    path = run.path / "export" / "left.pt2"
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        f"{path}: {path.stat().st_size / 1000:,.1f} kB, iteration 7",
        "  in   observations  float32  (batch, 1)",
        "  out  action        int64    (batch)",
        "  out  outputs       float32  (batch, 2)",
    ]
    assert lines[4].startswith("  differs from the policy by at most ")
    assert lines[4].endswith(" on 67 observations") and len(lines) == 5
    described = json.loads((run.path / "export" / "left.pt2.json").read_text())
    assert (described["run"], described["policy"], described["iteration"]) == (run.path.name, "left", 7)
    assert {file.name for file in path.parent.iterdir()} == {"left.pt2", "left.pt2.json"}


@pytest.mark.long
def test_one_policy_of_an_earlier_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, output = run_with(tmp_path), tmp_path / "else" / "where"
    words = ["--policy", "right", "--format", "pt2", "--checkpoint", "0", "--output", str(output)]
    assert main(["export", str(run.path), *words]) == 0
    assert capsys.readouterr().out.startswith(f"{output / 'right.pt2'}: ")
    assert {file.name for file in output.iterdir()} == {"right.pt2", "right.pt2.json"}
    saved = run.load_checkpoint(0)["policies"]["right"]["model.actor_layers.0.weight"]
    exported = torch.export.load(output / "right.pt2").state_dict["policy.model.actor_layers.0.weight"]
    assert torch.equal(exported, saved)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy", "lift"], "run '{}' has no policy 'lift'. Did you mean 'left'? Its policies: left, right"),
        (["--policy", "right"], "policy 'right' of run '{}' acts at random: there is nothing to load"),
        (["--checkpoint", "6"], "run '{}' has no checkpoint of iteration 6, the nearest is 7"),
        (["--format", "onxx"], "'{}/export/left.onxx': format 'onxx', expected onnx or pt2. Did you mean 'onnx'?"),
        (["--format", "pt2", "--output", "{}/config.yaml"], "folder '{}/config.yaml' cannot be made: File exists"),
    ],
)
def test_refusals(words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_with(tmp_path, "right")
    assert main(["export", str(run.path), *(word.format(run.path) for word in words)]) == 2
    assert capsys.readouterr().err.splitlines(keepends=True)[-1] == f"error: {message.format(run.path)}\n"


def test_nothing_but_random_policies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_with(tmp_path, "left", "right")
    assert main(["export", str(run.path)]) == 2
    message = f"run '{run.path}' has no policy but random ones: there is nothing to export"
    assert capsys.readouterr().err.splitlines(keepends=True)[-1] == f"error: {message}\n"
