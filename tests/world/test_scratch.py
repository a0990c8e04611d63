"""Arrays that mean nothing between launches: nothing keeps, compares or hands out what they hold."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import warpworld
from tests.narrow_device import NarrowBackend
from tests.toys import HEADER, agents, environment
from warpworld import Array, Environment, Group, World
from warpworld.checking.tracing import Trace
from warpworld.config import config_from_dict
from warpworld.errors import DeclarationError, StoreError
from warpworld.managers.data_manager import Kept
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

# Agents line up in the order in which they come, then add up those before agent 0's own entry's contents.
QUEUE = """
extern "C" __global__ void step(int* count, int* queue, int* launches, int* total, float* observations) {
  if (!is_active()) return;
  const int first = env_id() * NUM_AGENTS;
  if (agent_id() == 0) {
    count[env_id()] = 0;
    launches[env_id()] += 1;
  }
  sync_env();  // orders the empty queue before the first agent in it
  queue[first + atomicAdd(&count[env_id()], 1)] = agent_id();
  sync_env();  // orders the queue before it is read
  if (agent_id() == 0) {
    total[env_id()] = 0;
    for (int i = 0; i < count[env_id()]; ++i) total[env_id()] += queue[first + i];
  }
  observations[agent_index()] = 0.0f;
}
extern "C" __global__ void reset(int* launches, int* total, float* observations) {
  if (!is_active()) return;
  if (agent_id() == 0) launches[env_id()] = total[env_id()] = 0;
  observations[agent_index()] = 0.0f;
}
extern "C" __global__ void look(const int* queue, int* total) {
  if (is_active() && agent_id() == 0) total[env_id()] = queue[env_id() * NUM_AGENTS];
}
"""
ARRAYS = {
    "count": Array("count", "int32", per="env", scratch=True),
    "queue": Array("queue", "int32", scratch=True),
    "launches": Array("launches", "int32", per="env"),
    "total": Array("total", "int32", per="env"),
}


def queue(path: Path, **arrays: Array) -> Environment:
    """An environment of three agents that line up; ``arrays`` replaces some declarations."""
    source = path / "queue.cu"
    source.write_text(HEADER + QUEUE)
    return environment(source, list({**ARRAYS, **arrays}.values()), [agents(3)])


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(queue(tmp_path), 4, "cpu")
    made.reset()
    made.step()
    return made


# ---- the declaration ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scratch": 1}, "array 'queue': scratch=1, expected True or False"),
        (
            {"initial": 0},
            "array 'queue': initial=0 with scratch=True, whose contents mean nothing between launches; remove initial, "
            "or declare it without scratch",
        ),
        ({"metric": "last"}, "array 'queue': metric='last' with scratch=True, whose contents"),
        ({"read_only": True}, "array 'queue': read_only=True with scratch=True, whose contents"),
        ({"on_reset": "keep"}, "array 'queue': on_reset='keep' with scratch=True, whose contents"),
    ],
)
def test_what_scratch_cannot_be(given: Mapping[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as raised:
        Array("queue", "int32", **{"scratch": True, **given})
    assert str(raised.value).startswith(message)


def test_neither_infos_nor_critics_read_it(tmp_path: Path) -> None:
    made = queue(tmp_path, queue=Array("queue", "float32", scratch=True))
    type(made).infos = ("queue",)  # type: ignore[attr-defined]
    with pytest.raises(DeclarationError, match=r"^Toy: infos names 'queue', which is scratch, so its contents mean "):
        World(made, 1, "cpu")
    type(made).infos = ()  # type: ignore[attr-defined]
    plain = agents(3)
    group = Group("agent", 3, plain.observation, plain.action, critic_input="queue")
    type(made).groups = lambda self: [group]  # type: ignore[method-assign]
    with pytest.raises(DeclarationError, match=r"critic_input='queue', which is scratch, so its contents mean nothing"):
        World(made, 1, "cpu")


# ---- what holds a world's state -------------------------------------------------------------------------------------
def test_states_and_sums_leave_it_out(world: World) -> None:
    snapshot, state, sums = world.snapshot(), world.state(), world.data.checksums()
    for name in ("count", "queue"):
        world[name] = 77
    assert world.data.names("scratch") == ["count", "queue"]
    assert torch.equal(world.snapshot(), snapshot) and torch.equal(world.state(), state)
    assert torch.equal(world.data.checksums(), sums) and world.data.matches(snapshot)
    world.restore(snapshot, world.data.layout())
    world.set_state(slice(None), state)
    world.fork(0, [1])
    assert bool((world["queue"] == 77).all())
    assert {"count", "queue"}.isdisjoint(name for name, _, _ in world.data.layout())


def test_a_copy_of_the_world_follows_the_same_trajectory(world: World) -> None:
    twin = copy.deepcopy(world)
    assert twin.data.names("scratch") == ["count", "queue"]
    for each in (world, twin):
        each.step()
    assert all(torch.equal(world[name], twin[name]) for name in world.data)
    assert world["launches"].tolist() == [2] * 4 and world["total"].tolist() == [3] * 4


def test_a_part_may_add_some(tmp_path: Path) -> None:
    made = World(queue(tmp_path), 4, "cpu")
    made.add(Array("own", "int32", scratch=True))
    made.add(Array("other", "int32"), kept="scratch")
    made.reset()
    assert made.data.names("scratch") == ["count", "queue", "own", "other"]


# ---- the check of a captured graph ----------------------------------------------------------------------------------
@pytest.mark.parametrize(("kept", "is_captured"), [("scratch", True), ("derived", False)])
def test_a_graph_may_leave_anything_in_it(
    kept: Kept, is_captured: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = World(queue(tmp_path), 2, backend=NarrowBackend(1))
    made.add(Array("order", "int32", (1,), "world", initial=0), kept=kept)
    made.reset()

    def run() -> None:
        made.step()

    real = made._backend.capture  # type: ignore[attr-defined]

    def capture(work: Callable[[], None]) -> Callable[[], None]:
        replay = real(work)

        def in_another_order() -> None:
            replay()
            made["order"].add_(1)

        return in_another_order

    made._backend.capture = capture  # type: ignore[attr-defined, method-assign]
    with caplog.at_level(logging.WARNING, logger="warpworld"):
        assert (made.capture(run) is not run) == is_captured
    assert ("other results in order" in caplog.text) != is_captured


# ---- checks and comparisons -----------------------------------------------------------------------------------------
def found(made: Environment) -> list[tuple[str, str | None, str]]:
    report = warpworld.check(made, num_envs=2, steps=4)
    return [(finding.kind, finding.array, finding.message) for finding in report.findings if not finding.note]


def test_a_check_minds_no_order_of_it(tmp_path: Path) -> None:
    assert found(queue(tmp_path)) == []
    kept = {name: Array(name, "int32", per=ARRAYS[name].per, on_reset="keep") for name in ("count", "queue")}
    assert [(kind, array) for kind, array, _ in found(queue(tmp_path, **kept))] == [("order", "queue")]


def test_a_check_finds_what_is_read_in_another_launch(tmp_path: Path) -> None:
    made = queue(tmp_path)
    type(made).phases = lambda self: ["step", "look"]  # type: ignore[method-assign]
    ((kind, array, message),) = found(made)
    assert (kind, array) == ("unwritten", "queue")
    assert "agent 0 reads queue[env 0, agent 0], which no agent has written in this launch" in message


def test_a_check_watches_it(tmp_path: Path) -> None:
    made = queue(tmp_path)
    made.source.write_text(made.source.read_text().replace("atomicAdd(&count[env_id()], 1)", "count[env_id()]++"))  # type: ignore[union-attr]
    assert ("race", "count") in {(kind, array) for kind, array, _ in found(made)}
    (tmp_path / "far").mkdir()
    made = queue(tmp_path / "far")
    made.source.write_text(made.source.read_text().replace("queue[first + atomicAdd", "queue[first + 9999 + atomicAdd"))  # type: ignore[union-attr]
    assert ("out-of-bounds", "queue") in {(kind, array) for kind, array, _ in found(made)}


def test_a_reference_neither_gets_nor_returns_it(tmp_path: Path) -> None:
    seen: set[str] = set()

    def reference(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        seen.update(arrays)
        return {"total": np.int32(3)}

    assert warpworld.compare(queue(tmp_path), reference, num_envs=2, steps=3, device="cpu").agrees
    assert "total" in seen and "queue" not in seen
    with pytest.raises(DeclarationError, match=r"compare: the reference returned 'queue', which is not an array"):
        warpworld.compare(queue(tmp_path), lambda arrays: {"queue": np.zeros(3)}, num_envs=2, steps=1, device="cpu")


def test_a_trace_does_not_show_it(tmp_path: Path) -> None:
    world = World(queue(tmp_path), 2, "cpu")
    with pytest.raises(StoreError, match=r"no array 'queue' to trace\."):
        Trace(world, 0, tmp_path / "trace.csv", arrays=["queue"])


# ---- checkpoints of earlier versions --------------------------------------------------------------------------------
CONFIG: dict[str, Any] = {
    "name": "tag_continuous",
    "env": {"num_taggers": 1, "num_runners": 2, "num_other_agents_observed": 1},
    "trainer": {"num_envs": 3, "num_steps": 4, "total_env_steps": 48, "device": "cpu"},
    "policy": {"tagger": {"algorithm": "a2c"}, "runner": {"algorithm": "random"}},
}


def test_a_run_continues_though_its_checkpoint_holds_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_from_dict(CONFIG)
    with monkeypatch.context() as patched:
        patched.setattr(Array, "_check_scratch", lambda self, where: object.__setattr__(self, "scratch", False))
        earlier = Trainer(config)
        earlier._iterate()
        saved = earlier.state_dict()
    assert "crowd" in {entry[0] for entry in saved["layout"]}
    trainer = Trainer(config)
    trainer.load_state_dict(saved)
    assert all(torch.equal(trainer.world[name], earlier.world[name]) for name in trainer.world.data.names("state"))
    with pytest.raises(StoreError, match="array 'crowd' is uint8"):
        trainer.load_state_dict({**saved, "store": saved["store"][:-256]})
