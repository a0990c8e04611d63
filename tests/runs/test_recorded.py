"""Replays that ``saving.record_every`` writes: what they hold, who gets them, and that the run is the same without."""

from __future__ import annotations

import logging
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from tests.runs.resuming import changed, resumed
from warpworld.config import RunConfig
from warpworld.envs.cartpole.cartpole import CartPole
from warpworld.errors import LoggerError, RunError
from warpworld.report import read_replay
from warpworld.runs import Run
from warpworld.runs.loggers import Logger
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend


@pytest.fixture
def recorded(config: RunConfig) -> RunConfig:
    """Six small iterations of CartPole, of which every second one is recorded."""
    return changed(config, "saving", record_every=2, loggers=[])


def trained(config: RunConfig, folder: Path, iterations: int = 6) -> Run:
    run, trainer = Run.create(config, folder), Trainer(config)
    try:
        trainer.train(run, stop=lambda: trainer.iteration >= iterations)
    finally:
        run.close()
    return run


def pages(run: Run) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((run.path / "replays").iterdir())}


def assert_same(one: Any, other: Any, where: str = "") -> None:
    """Compare checkpoints bit for bit, but for the time that training took and the settings."""
    if isinstance(one, Tensor):
        assert torch.equal(one, other), where
    elif isinstance(one, Mapping):
        assert one.keys() == other.keys()
        for key in one.keys() - {"seconds", "config"}:
            assert_same(one[key], other[key], f"{where}/{key}")
    else:
        assert one == other, where


# ---- the run is the same ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"trainer": {"overlap": True}},
        {"policy": {"agent": {"model": {"recurrent": "gru", "recurrent_size": 8}}}},
    ],
    ids=["plain", "overlap", "memory"],
)
def test_recording_changes_nothing_that_a_run_computes(
    changes: dict[str, Any], config: RunConfig, recorded: RunConfig, tmp_path: Path
) -> None:
    found = []
    for number, base in enumerate((changed(config, "saving", loggers=[]), recorded)):
        for section, values in changes.items():
            merged = {name: {**base.to_dict()[section].get(name, {}), **value} if isinstance(value, dict) else value
                      for name, value in values.items()}  # fmt: skip
            base = changed(base, section, **merged)
        run = trained(base, tmp_path / str(number))
        found.append((run.metrics_path.read_bytes(), run.load_checkpoint()))
    assert run.recorded.iterations() == [2, 4, 6]
    assert found[0][0] == found[1][0]
    assert_same(found[0][1], found[1][1])


class Noisy(nn.Module):
    """A model that draws from torch's own generator whenever it acts, as dropout does."""

    def __init__(self, observation: Any, num_outputs: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(num_outputs))

    def actor(self, observations: Tensor) -> Tensor:
        return torch.rand(*observations.shape[:-1], len(self.scale)) * self.scale

    def critic(self, observations: Tensor) -> Tensor:
        return observations.mean(-1) * self.scale.mean()


def test_what_is_drawn_from_torch_s_own_generator_stays_the_same(recorded: RunConfig, tmp_path: Path) -> None:
    """A user's model may draw from it."""
    recorded = changed(recorded, "policy", agent={"model": {"type": "tests.runs.test_recorded:Noisy"}})
    run, trainer = Run.create(recorded, tmp_path), Trainer(recorded)
    torch.manual_seed(5)
    assert trainer.recordings.take(2, 64, run) is None
    drawn = torch.rand(3)
    run.close()
    torch.manual_seed(5)
    assert run.recorded.iterations() == [2]
    assert torch.equal(drawn, torch.rand(3))


def test_a_resumed_run_records_on(recorded: RunConfig, tmp_path: Path) -> None:
    whole = pages(trained(recorded, tmp_path / "whole"))
    assert list(whole) == [f"iteration_{number:06d}.html" for number in (2, 4, 6)]
    run = trained(recorded, tmp_path / "cut", iterations=3)
    # beyond the checkpoint, as where a process was killed
    later, unfinished = run.recorded.page(4), run.recorded.folder / ".iteration_000004.html.1.tmp"
    later.write_text("of the killed session")
    unfinished.write_text("half a page")
    trainer = resumed(run)
    assert not later.exists() and not unfinished.exists()
    trainer.train(run)
    run.close()
    assert pages(run) == whole


# ---- what is written -------------------------------------------------------------------------------------------------
def test_each_page_plays_the_policies_of_its_iteration(recorded: RunConfig, tmp_path: Path) -> None:
    run = trained(recorded, tmp_path)
    texts = [read_replay(run.recorded.page(iteration)) for iteration in run.recorded.iterations()]
    for iteration, text in zip((2, 4, 6), texts, strict=True):
        assert f'"iteration {iteration}, actions drawn, seed 0"' in text
    from warpworld.report import record_run, replay_text

    assert texts[2] == replay_text(record_run(run, checkpoint=6))  # as `warpworld watch` records it


def test_the_last_iteration_is_recorded_too(recorded: RunConfig, tmp_path: Path) -> None:
    run = trained(changed(recorded, "saving", record_every=4), tmp_path)
    assert run.recorded.iterations() == [4, 6]
    none = trained(changed(recorded, "saving", record_every=None), tmp_path / "none")
    assert not none.recorded.folder.exists()


def test_another_process_than_the_first_records_nothing(recorded: RunConfig) -> None:
    trainer = Trainer(recorded)
    assert trainer.recordings.take(2, 64, None) is None


@pytest.mark.parametrize("failure", [TypeError("no such colour"), RunError("nothing to draw")])
def test_a_recording_that_fails_does_not_end_the_run(
    failure: Exception,
    recorded: RunConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def draw(self: CartPole, arrays: Any) -> Any:
        raise failure

    monkeypatch.setattr(CartPole, "draw", draw)
    with caplog.at_level(logging.WARNING, "warpworld"):
        run = trained(recorded, tmp_path)
    assert run.checkpoints() == [0, 1, 2, 3, 4, 5, 6]
    assert [record.getMessage() for record in caplog.records if "no replay" in record.getMessage()] == [
        f"no replay of iteration {iteration}: {failure}" for iteration in (2, 4, 6)
    ]


# ---- loggers ---------------------------------------------------------------------------------------------------------
class Watcher(Logger):
    """Keeps what it is shown."""

    shown: list[tuple[str, int, int]] = []  # noqa: RUF012
    failure: Exception | None = None

    def log(self, metrics: Any) -> None:
        """Take nothing."""

    def show(self, picture: Path, iteration: int, env_steps: int) -> None:
        if type(self).failure is not None:
            raise type(self).failure
        self.shown.append((picture.relative_to(self.folder).as_posix(), iteration, env_steps))


class Deaf(Logger):
    """Takes no pictures."""

    def log(self, metrics: Any) -> None:
        """Take nothing."""


@pytest.fixture
def watcher(monkeypatch: pytest.MonkeyPatch) -> type[Watcher]:
    monkeypatch.setattr(Watcher, "shown", [])
    return Watcher


def own(config: RunConfig, *names: str) -> RunConfig:
    return changed(config, "saving", loggers=[f"tests.runs.test_recorded:{name}" for name in names])


def test_loggers_that_show_pictures_get_them(watcher: type[Watcher], recorded: RunConfig, tmp_path: Path) -> None:
    run = trained(own(recorded, "Watcher", "Deaf"), tmp_path)
    assert watcher.shown == [(f"replays/iteration_{number:06d}.gif", number, 32 * number) for number in (2, 4, 6)]
    with Image.open(run.recorded.picture(6)) as gif:
        assert max(gif.size) < 300 and gif.n_frames > 1
    alone = trained(own(recorded, "Deaf"), tmp_path / "alone")
    assert [path.suffix for path in alone.recorded.folder.iterdir()] == [".html"] * 3  # no picture that no logger takes


def test_a_logger_that_fails_to_show_ends_the_run_with_a_checkpoint(
    watcher: type[Watcher], recorded: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watcher, "failure", ValueError("full"))
    expected = r"^logger 'tests.runs.test_recorded:Watcher' failed in show: full; to continue without it: "
    with pytest.raises(LoggerError, match=expected):
        trained(own(changed(recorded, "saving", checkpoint_every=50), "Watcher"), tmp_path)
    (path,) = tmp_path.iterdir()
    assert Run.open(path).checkpoints() == [0, 2]


def test_tensorboard_has_an_image(recorded: RunConfig, tmp_path: Path) -> None:
    loading = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader", reason="needs TensorBoard")
    run = trained(changed(recorded, "saving", loggers=["tensorboard"]), tmp_path)
    (events,) = run.path.glob("events.out.tfevents.*")
    images = {}
    for event in loading.EventFileLoader(str(events)).Load():
        for value in event.summary.value:
            if value.tag == "replay":
                images[event.step] = value.tensor.string_val
    assert list(images) == [64, 128, 192]
    with Image.open(run.recorded.picture(6)) as gif:
        assert [bytes(part) for part in images[192]] == [
            *(str(length).encode() for length in gif.size), run.recorded.picture(6).read_bytes()
        ]  # fmt: skip


def test_weights_and_biases_has_a_video(recorded: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, dict[str, Any]]] = []
    module = types.ModuleType("wandb")
    session = types.SimpleNamespace(log=lambda data, step: sent.append((step, data)), finish=lambda: None)
    module.init = lambda **given: session  # type: ignore[attr-defined]
    module.Video = lambda path, format: (Path(path).name, format)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", module)
    trained(changed(recorded, "saving", wandb="chases"), tmp_path)
    videos = [(step, data["replay"]) for step, data in sent if "replay" in data]
    assert videos == [(32 * number, (f"iteration_{number:06d}.gif", "gif")) for number in (2, 4, 6)]


def test_mlflow_has_artifacts(recorded: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.runs.test_mlflow import Param, Point, Server

    kept: list[tuple[str, str, str]] = []
    server, parts = (
        Server(),
        {name: types.ModuleType(name) for name in ("mlflow", "mlflow.entities", "mlflow.tracking")},
    )
    server.log_artifact = lambda identity, path, place: kept.append((identity, Path(path).name, place))  # type: ignore
    package, entities, tracking = parts.values()
    entities.Metric, entities.Param = Point, Param  # type: ignore[attr-defined]
    tracking.MlflowClient = lambda: server  # type: ignore[attr-defined]
    package.entities, package.tracking = entities, tracking  # type: ignore[attr-defined]
    for name, part in parts.items():
        monkeypatch.setitem(sys.modules, name, part)
    trained(changed(recorded, "saving", mlflow="chases"), tmp_path)
    assert kept == [("0", f"iteration_{number:06d}.gif", "replays") for number in (2, 4, 6)]
