"""The facts that a run's folder keeps for listings: used while its files are the same, and never trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runs.test_summaries import logged
from warpworld.runs import Run, RunFolder, facts
from warpworld.runs.summary import Returns, summarise


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = logged(tmp_path, [20.0, 30.0])
    made.close()
    return made


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Folders whose files are read."""
    found: list[Path] = []
    read = facts.Facts.read
    monkeypatch.setattr(facts.Facts, "read", lambda run: found.append(run.path) or read(run))
    return found


def kept(run: RunFolder) -> Path:
    return run.path / ".summary.json"


def test_a_run_that_ends_leaves_a_summary(run: Run, reads: list[Path]) -> None:
    summary = summarise(run)
    assert (summary.returns, summary.env_steps, summary.state) == ({"agent": Returns(30.0, 30.0)}, 64, "stopped")
    assert summary.settings["trainer"]["num_envs"] == 4
    assert reads == []
    kept(run).unlink()
    for _ in range(2):
        assert summarise(run).returns == {"agent": Returns(30.0, 30.0)}
    assert reads == [run.path]


def test_files_that_changed_are_read_again(run: Run, reads: list[Path]) -> None:
    run.log({"iteration": 3, "env_steps": 96, "charts/agent/episodic_return": 40.0})
    assert summarise(run).returns == {"agent": Returns(40.0, 40.0)}
    run.config_path.write_text(run.config_path.read_text().replace("total_env_steps: 200", "total_env_steps: 96"))
    assert summarise(run).state == "finished"
    assert len(reads) == 2


def test_a_run_that_trains_keeps_none(tmp_path: Path) -> None:
    run = logged(tmp_path, [20.0])
    assert summarise(run).returns == {"agent": Returns(20.0, 20.0)}
    assert not kept(run).exists()
    run.close()


@pytest.mark.parametrize(
    "change",
    [
        {"stamp": []},
        {"settings": {"name": "cartpole"}},
        {"facts": {"env_steps": "many"}},
        {"facts": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_one_that_is_wrong_is_not_used(run: Run, change: dict[str, Any], reads: list[Path]) -> None:
    kept(run).write_text(json.dumps({**json.loads(kept(run).read_text()), **change}))
    assert summarise(run).returns == {"agent": Returns(30.0, 30.0)}
    assert reads == [run.path]


@pytest.mark.parametrize("text", ["", "[]", "3", "[" * 5000, '{"stamp": 1'])
def test_one_that_is_none_is_not_used(run: Run, text: str) -> None:
    kept(run).write_text(text)
    assert summarise(run).returns == {"agent": Returns(30.0, 30.0)}


def test_a_link_is_not_followed(run: Run, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(kept(run).read_text().replace("30.0", "99.0"))
    kept(run).unlink()
    kept(run).symlink_to(elsewhere)
    assert summarise(run).returns == {"agent": Returns(30.0, 30.0)}
    assert "99.0" in elsewhere.read_text()


def test_a_folder_where_none_can_be_kept(run: Run) -> None:
    kept(run).unlink()
    kept(run).mkdir()
    (kept(run) / "file").touch()
    assert summarise(run).returns == {"agent": Returns(30.0, 30.0)}
    assert list(run.path.glob("*.tmp")) == []
