"""Metrics in JSON lines, TensorBoard and Weights & Biases."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tensorboard", reason="no TensorBoard here, which reads event files back: make setup installs it")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.plugins.hparams import metadata as hparams

from warpworld.cli.main import main
from warpworld.config import RunConfig, config_from_dict
from warpworld.errors import RunError
from warpworld.runs import Run
from warpworld.runs.loggers import JsonLines, TensorBoard
from warpworld.trainers.trainer import Trainer


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def curves(run: Run) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard itself reads of a run."""
    events = EventAccumulator(str(run.path), size_guidance={"scalars": 0})
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


# --- JSON lines -------------------------------------------------------------------------------------------------------


def test_times_and_the_rest_have_files_of_their_own(run: Run) -> None:
    determined, timed = lines(run.metrics_path), lines(run.timing_path)
    perf = ("env_steps_per_s", "agent_steps_per_s", "rollout_s", "update_s", "agent/update_s", "cpu_s")
    assert set(timed[0]) == {"iteration", "env_steps", "time", *(f"perf/{name}" for name in perf)}
    assert {"iteration", "env_steps", "agent_steps", "charts/agent/episodic_return"} <= set(determined[0])
    assert not [name for name in determined[0] if name == "time" or name.startswith("perf/")]
    assert [line["env_steps"] for line in determined] == [line["env_steps"] for line in timed] == [32, 64, 96]
    assert all(line["perf/rollout_s"] + line["perf/update_s"] > 0 for line in timed)


def test_rewinding_what_does_not_exist(tmp_path: Path) -> None:
    file = JsonLines(tmp_path / "x.jsonl", lambda metrics: metrics)
    file.rewind(3, 30)
    assert not file.path.exists()
    file.log({"iteration": 4})
    file.sync()
    file.rewind(3, 30)
    file.log({"iteration": 4, "again": True})
    file.close()
    file.close()
    assert lines(file.path) == [{"iteration": 4, "again": True}]


# --- TensorBoard ------------------------------------------------------------------------------------------------------


def test_tensorboard_has_every_number(run: Run) -> None:
    seen = curves(run)
    written = [{**one, **other} for one, other in zip(lines(run.metrics_path), lines(run.timing_path), strict=True)]
    names = {name for line in written for name, value in line.items() if value is not None}
    moved = {f"perf/{name}": name for name in ("iteration", "agent_steps", "time")}
    moved |= {"perf/episodes": "charts/episodes", "losses/agent/learning_rate": "charts/agent/learning_rate"}
    assert {moved.get(tag, tag) for tag in seen} == names - {"env_steps"}
    assert sorted(seen)[:3] == ["charts/agent/episodic_return", "charts/episodic_length", "losses/agent/approx_kl"]
    for tag, points in seen.items():
        name = moved.get(tag, tag)
        expected = [(line["env_steps"], line[name]) for line in written if line[name] is not None]
        assert [step for step, _ in points] == [step for step, _ in expected]
        assert [value for _, value in points] == pytest.approx([value for _, value in expected], rel=1e-6)


def test_a_number_that_is_not_finite_is_left_out(config: RunConfig, tmp_path: Path) -> None:
    board = TensorBoard(tmp_path, config)
    board.log({"env_steps": 8, "loss": float("nan"), "none": None, "name": "text", "fine": 2.5})
    board.close()
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert events.Tags()["scalars"] == ["fine"]


def test_curves_of_a_resumed_run_do_not_double(run: Run) -> None:
    run.log({"iteration": 4, "env_steps": 128, "agent_steps": 0})  # logged, but killed before the checkpoint
    run.close()
    assert [step for step, _ in curves(run)["perf/agent_steps"]] == [32, 64, 96, 128]
    again = Run.open(run.path)
    trainer = Trainer(again.config)
    trainer.resume(again)
    trainer.train(again)
    again.close()
    assert curves(again)["perf/agent_steps"] == [(step, step) for step in (32, 64, 96, 128, 160, 192)]
    assert len(list(run.path.glob("events.out.tfevents.*"))) == 3


@pytest.mark.long
def test_settings_as_text_and_hyperparameters(run: Run) -> None:
    """Once a run: a resumed session has a file of its own."""
    trainer = Trainer(run.config)
    trainer.resume(run)
    trainer.train(run)
    run.close()
    found: dict[str, list[Any]] = {}
    for path in run.path.glob("events.out.tfevents.*"):
        for event in EventFileLoader(str(path)).Load():
            for value in event.summary.value:
                found.setdefault(value.tag, []).append(value)
    (text,), (session,) = found["config"], found["_hparams_/session_start_info"]
    assert text.metadata.plugin_data.plugin_name == "text"
    block = text.tensor.string_val[0].decode()
    assert "\n".join(line[4:] for line in block.splitlines()) == run.config.to_yaml().rstrip("\n")
    assert all(line.startswith("    ") for line in block.splitlines())
    start = hparams.parse_session_start_info_plugin_data(session.metadata.plugin_data.content)
    given = start.hparams
    assert given["trainer.seed"].number_value == 1
    assert given["policy.agent.norm_adv"].bool_value is True
    assert given["policy.agent.algorithm"].string_value == "ppo"
    assert given["policy.agent.model.hidden_sizes"].string_value == "[64, 64]"
    assert not [key for key in given if key.startswith("saving.")]


# --- Weights & Biases -------------------------------------------------------------------------------------------------


class Site:
    """Stands in for the wandb package: keeps what it is told, as the site does."""

    def __init__(self) -> None:
        self.sessions: list[dict[str, Any]] = []
        self.logged: list[tuple[int, dict[str, float]]] = []
        self.finished = 0
        self.failure: Exception | None = None

    def init(self, **given: Any) -> Site:
        if self.failure is not None:
            raise self.failure
        self.sessions.append(given)
        return self

    def log(self, data: dict[str, float], step: int) -> None:
        self.logged.append((step, data))

    def finish(self) -> None:
        self.finished += 1


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    site, module = Site(), types.ModuleType("wandb")
    module.init = site.init  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", module)
    return site


@pytest.fixture
def watched(config: RunConfig) -> RunConfig:
    data = config.to_dict()
    return config_from_dict({**data, "saving": {**data["saving"], "wandb": "chases"}})


def test_a_resumed_run_is_the_same_run_on_the_site(site: Site, watched: RunConfig, tmp_path: Path) -> None:
    run, trainer = Run.create(watched, tmp_path), Trainer(watched)
    trainer.train(run, stop=lambda: trainer.iteration == 2)
    run.close()
    assert main(["train", "--resume", str(run.path)]) == 0
    first, second = site.sessions
    assert first == second
    assert (first["project"], first["name"], first["resume"]) == ("chases", run.path.name, "allow")
    assert first["config"]["trainer"]["num_envs"] == 4
    assert first["id"] == (run.path / "wandb_id").read_text().strip()
    assert site.finished == 2
    assert [step for step, _ in site.logged] == [32, 64, 96, 128, 160, 192]
    assert {"perf/rollout_s", "losses/agent/policy_loss"} <= set(site.logged[0][1])


def test_nothing_is_sent_unless_asked(site: Site, config: RunConfig, tmp_path: Path) -> None:
    run = Run.create(config, tmp_path)
    Trainer(config).train(run)
    run.close()
    assert site.sessions == []


def test_without_the_package(watched: RunConfig, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    message = r"saving.wandb needs the package wandb, .*: pip install 'warpworld\[wandb\]', or set saving.wandb=null"
    with pytest.raises(RunError, match=message):
        Run.create(watched, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    before = run.metrics_path.read_bytes()
    again = Run.open(run.path)
    again.config = watched
    with pytest.raises(RunError, match=message):
        Trainer(watched).resume(again)
    assert run.metrics_path.read_bytes() == before


def test_a_site_that_cannot_be_reached(site: Site, watched: RunConfig, tmp_path: Path) -> None:
    site.failure = TimeoutError("no answer\nfrom api.wandb.ai")
    run = Run.create(watched, tmp_path)
    with pytest.raises(RunError, match=r"^Weights & Biases cannot be started: no answer; log in .* saving.wandb=null$"):
        Trainer(watched).train(run)
    assert run.checkpoints() == [0, 1]  # the iteration is not lost
    assert [line["iteration"] for line in lines(run.metrics_path)] == [1]
