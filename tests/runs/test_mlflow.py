"""Metrics in MLflow: a stand-in for its client, and the client itself with files where it is installed."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.runs.resuming import changed
from warpworld.cli.main import main
from warpworld.config import RunConfig
from warpworld.errors import RunError
from warpworld.runs import Run
from warpworld.trainers.trainer import Trainer


@dataclass
class Point:
    key: str
    value: float
    timestamp: int
    step: int


@dataclass
class Param:
    key: str
    value: str


@dataclass
class Server:
    """Keeps what clients send, as a server of MLflow does."""

    experiments: list[str] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    failure: Exception | None = None

    def get_experiment_by_name(self, name: str) -> Any:
        if self.failure is not None:
            raise self.failure
        known = name in self.experiments
        return types.SimpleNamespace(experiment_id=str(self.experiments.index(name))) if known else None

    def create_experiment(self, name: str) -> str:
        self.experiments.append(name)
        return str(len(self.experiments) - 1)

    def create_run(self, experiment: str, run_name: str) -> Any:
        self.runs.append({"experiment": experiment, "name": run_name, "status": "RUNNING", "metrics": [], "params": []})
        return types.SimpleNamespace(info=types.SimpleNamespace(run_id=str(len(self.runs) - 1)))

    def log_batch(self, identity: str, metrics: Any = (), params: Any = ()) -> None:
        assert len(params) <= 100
        self.runs[int(identity)]["metrics"] += metrics
        self.runs[int(identity)]["params"] += params

    def get_metric_history(self, identity: str, key: str) -> list[Point]:
        return [point for point in self.runs[int(identity)]["metrics"] if point.key == key]

    def update_run(self, identity: str, status: str) -> None:
        self.runs[int(identity)]["status"] = status

    def set_terminated(self, identity: str) -> None:
        self.update_run(identity, "FINISHED")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    parts = {name: types.ModuleType(name) for name in ("mlflow", "mlflow.entities", "mlflow.tracking")}
    package, entities, tracking = parts.values()
    entities.Metric, entities.Param = Point, Param  # type: ignore[attr-defined]
    tracking.MlflowClient = lambda: server  # type: ignore[attr-defined]
    package.entities, package.tracking = entities, tracking  # type: ignore[attr-defined]
    for name, part in parts.items():
        monkeypatch.setitem(sys.modules, name, part)
    return server


@pytest.fixture
def watched(config: RunConfig) -> RunConfig:
    return changed(config, "saving", mlflow="chases", eval_every=2, eval_episodes=2)


@pytest.mark.long
def test_a_killed_and_resumed_run_is_one_run(server: Server, watched: RunConfig, tmp_path: Path) -> None:
    run, trainer = Run.create(watched, tmp_path), Trainer(watched)
    trainer.train(run, stop=lambda: trainer.iteration == 2)
    run.log({"iteration": 3, "env_steps": 96})  # sent, but killed before the checkpoint
    run.close()
    assert server.runs[0]["status"] == "FINISHED"
    assert main(["train", "--resume", str(run.path)]) == 0
    assert server.experiments == ["chases"]
    (kept,) = server.runs
    assert (kept["name"], kept["status"]) == (run.path.name, "FINISHED")
    assert (run.path / "mlflow_id").read_text() == "0\n"
    assert [point.step for point in kept["metrics"] if point.key == "iteration"] == [32, 64, 96, 128, 160, 192]
    assert [point.step for point in kept["metrics"] if point.key == "eval/agent/score"] == [64, 128, 192]
    params = {param.key: param.value for param in kept["params"]}
    assert (params["trainer.num_envs"], params["policy.agent.algorithm"]) == ("4", "ppo")


def test_names_that_mlflow_refuses(server: Server, watched: RunConfig, tmp_path: Path) -> None:
    run = Run.create(watched, tmp_path)
    run.log({"env_steps": 1, "eval/agent/drawn_return/old#run": 2.0, "nothing": None})
    run.close()
    assert [point.key for point in server.runs[0]["metrics"]] == ["eval/agent/drawn_return/old_run"]


def test_a_server_that_cannot_be_reached(server: Server, watched: RunConfig, tmp_path: Path) -> None:
    server.failure = ValueError("no route")
    run = Run.create(watched, tmp_path)
    with pytest.raises(RunError) as error:
        run.log({"iteration": 1, "env_steps": 32})
    assert str(error.value) == (
        "MLflow cannot be reached or written: no route; check MLFLOW_TRACKING_URI, or set saving.mlflow=null"
    )


def test_without_the_package(watched: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mlflow", "mlflow.entities", "mlflow.tracking"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(RunError) as error:
        Run.create(watched, tmp_path)
    assert str(error.value) == (
        "saving.mlflow needs the package mlflow, which is not installed: pip install 'warpworld[mlflow]', "
        "or set saving.mlflow=null"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_with_mlflow_itself(watched: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In files, which its newer versions still write where this is asked for."""
    tracking = pytest.importorskip("mlflow.tracking", reason="needs mlflow: pip install mlflow-skinny")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path / 'store'}")
    run, trainer = Run.create(watched, tmp_path), Trainer(watched)
    trainer.train(run, stop=lambda: trainer.iteration == 2)
    run.close()
    again = Trainer(watched)
    again.resume(run)
    again.train(run)
    run.close()
    client, identity = tracking.MlflowClient(), (run.path / "mlflow_id").read_text().strip()
    found = client.get_run(identity)
    assert (found.info.run_name, found.info.status) == (run.path.name, "FINISHED")
    assert found.data.params["trainer.num_envs"] == "4"
    assert [point.step for point in client.get_metric_history(identity, "iteration")] == [32, 64, 96, 128, 160, 192]
