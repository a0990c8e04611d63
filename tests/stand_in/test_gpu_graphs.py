"""The suite sees which rollouts and which updates are replayed as CUDA graphs, where the stand-in records them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.gpu import cases
from tests.cases import seldom
from tests.stand_in.driver import StandIn
from tests.stand_in.recorded_graph import RecordedGraph
from tests.trainers.by_python import update_by_python
from warpworld.config import load_config
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.stand_in

SIZES = ("trainer.num_envs=4", "trainer.num_steps=4", "saving.log_every=1")
REPLAYED = ("policy.agent.batch_size=8", "policy.agent.learning_starts=16", "policy.agent.updates=1")
GRAPHS: list[tuple[str, tuple[str, ...]]] = [
    ("cartpole", ()),
    ("cartpole", ("policy.agent.target_kl=1.0", "policy.agent.update_epochs=2")),  # a graph of each part
    ("tag_gridworld", ("policy.tagger.num_minibatches=2", "policy.runner.num_minibatches=2")),  # one graph of both
    ("cartpole_dqn", REPLAYED),
]


@pytest.fixture(autouse=True)
def graphs_are_recorded(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands for torch's graph here is another class."""

    def is_graph(call: Callable[[], None]) -> bool:
        return isinstance(getattr(call, "__self__", None), RecordedGraph)

    monkeypatch.setattr(cases, "is_graph", is_graph)


def trained(config: str, *overrides: str) -> Trainer:
    """A trainer after three iterations."""
    trainer = Trainer(load_config(config, [*SIZES, *overrides]))
    trainer.train(None, stop=lambda: trainer.iteration == 3)
    return trainer


@pytest.mark.long
@pytest.mark.parametrize(("config", "overrides"), GRAPHS)
def test_graphs_of_rollouts_and_of_updates_are_seen(config: str, overrides: tuple[str, ...]) -> None:
    trainer = trained(config, *overrides, "trainer.graph_steps=4")
    assert cases.replays(trainer) and cases.updates_replay(trainer)


@pytest.mark.long
@pytest.mark.parametrize(
    ("config", "overrides"), [GRAPHS[0], *(pytest.param(*each, marks=seldom) for each in GRAPHS[1:])]
)
def test_where_there_are_none_none_are_seen(config: str, overrides: tuple[str, ...]) -> None:
    trainer = trained(config, *overrides, "trainer.graph_steps=0")
    assert not cases.replays(trainer) and not cases.updates_replay(trainer)


@pytest.mark.long
def test_an_update_whose_capture_was_given_up_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    update_by_python(monkeypatch)
    trainer = trained("cartpole")
    assert cases.replays(trainer) and not cases.updates_replay(trainer)


@pytest.mark.long
def test_before_the_first_update_there_is_no_graph() -> None:
    trainer = Trainer(load_config("cartpole", list(SIZES)))
    assert not cases.replays(trainer) and not cases.updates_replay(trainer)
