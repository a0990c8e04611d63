"""Steps captured into a graph: what is replayed is what would have been done, and what cannot be captured is said."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch

import warpworld
from tests.stand_in.driver import StandIn
from tests.toys import agents, environment
from tests.trainers.recorded import Recorded
from warpworld import Array, World, eager_phase
from warpworld.config import ModelConfig
from warpworld.policies import Policy, build_policy
from warpworld.trainers.collecting.acting import InGraphs

pytestmark = pytest.mark.cuda_backend


def rollout_of(
    name: str, num_steps: int, graph_steps: int, model: dict[str, Any] | None = None, fuse: bool = False, **params: Any
) -> Recorded:
    """A rollout of a reset world, in which each group has a policy of its own; with ``fuse`` they act in one kernel."""
    world = warpworld.make(name, num_envs=13, seed=4, **params)
    generator = torch.Generator().manual_seed(0)
    policies = {group: new_policy(world, group, generator, model) for group in world.groups}
    rollout = Recorded(world, policies, num_steps, graph_steps)
    if fuse:
        rollout.fuse()
        assert len(rollout.kernels) == 1
    world.reset()
    return rollout


def new_policy(world: World, group: str, generator: torch.Generator, model: dict[str, Any] | None = None) -> Policy:
    settings = ModelConfig(hidden_sizes=[8], **(model or {}))
    return build_policy(settings, world.groups[group], generator).to(world.device)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each step of a graph that Python takes."""
    taken: list[int] = []
    step = InGraphs._step

    def count(self: InGraphs) -> None:
        taken.append(1)
        step(self)

    monkeypatch.setattr(InGraphs, "_step", count)
    return taken


RECURRENT = {"recurrent": "lstm", "recurrent_size": 6}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("cartpole", dict(episode_length=5)),
    ("tag_gridworld", dict(num_taggers=4, grid_length=4, episode_length=6)),
    ("tag_continuous", dict(num_taggers=2, num_runners=3, episode_length=7, tagging_distance=0.2)),
]


MODELS: dict[str, tuple[dict[str, Any], bool]] = {
    "plain": ({}, False),
    "normalised": ({"normalise_observations": True}, False),
    "recurrent": (RECURRENT, False),
    "recurrent, in one kernel": ({"recurrent": "mingru", "recurrent_size": 6}, True),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("name", "params"), CASES)
def test_three_rollouts_as_graphs_and_step_by_step(
    name: str, params: dict[str, Any], model: str, caplog: pytest.LogCaptureFixture
) -> None:
    eager, graph = (rollout_of(name, 12, graph_steps, *MODELS[model], **params) for graph_steps in (0, 4))
    for rollout in (eager, graph):
        for _ in range(3):
            rollout.collect()
    assert min(eager.world["clock"].tolist()) >= 37  # a reset, 36 steps and what ended in them: no step of the check
    for array in eager.world.data:
        assert torch.equal(eager.world[array], graph.world[array]), array
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.stand_in
def test_python_takes_no_step_once_they_are_captured(monkeypatch: pytest.MonkeyPatch, stand_in: StandIn) -> None:
    rollout = rollout_of("tag_gridworld", 12, 5)  # 4 divides 12, 5 does not
    taken = counted(monkeypatch)
    rollout.collect()
    assert len(taken) == 2 * 4  # once to warm up, which is what the replay is compared with, and once to capture
    with stand_in.recording() as launches:
        rollout.collect()
    assert len(taken) == 2 * 4
    own = {launch.stream for launch in launches}
    assert len(launches) == 12 * 4 and 0 not in own and len(own) == 1  # two samplers, step, reset; none on the default


def test_other_policies_are_captured_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    eager, graph = (rollout_of("cartpole", 6, graph_steps) for graph_steps in (0, 3))
    taken = counted(monkeypatch)
    for rollout in (eager, graph):
        rollout.collect()
        ((group, actor),) = rollout.actors.items()
        actor.policy = new_policy(rollout.world, group, torch.Generator().manual_seed(9))
        rollout.collect()
        rollout.collect()
    assert len(taken) == 2 * (2 * 3)
    for array in eager.world.data:
        assert torch.equal(eager.world[array], graph.world[array]), array


def test_weights_that_change_in_place_are_seen() -> None:
    eager, graph = (rollout_of("cartpole", 6, graph_steps) for graph_steps in (0, 3))
    for rollout in (eager, graph):
        rollout.collect()
        (actor,) = rollout.actors.values()
        assert actor.policy is not None
        with torch.no_grad():
            for parameter in actor.policy.parameters():
                parameter.mul_(-3.0)
        rollout.collect()
    assert torch.equal(eager.world.snapshot(), graph.world.snapshot())


# ---- what is wrong with a capture shows -----------------------------------------------------------------------------
def counting_world(phase: Callable[..., None]) -> World:
    """A world whose step is one Python phase."""
    arrays = [Array("x", "float32", initial=0.0), Array("y", "int32", per="env", initial=0)]
    world = World(environment(None, arrays, [agents(2)], phases=[phase], resets=[]), num_envs=3)
    world.reset()
    return world


def add_one(arrays: Any, active: torch.Tensor) -> None:
    arrays["x"] = arrays["x"] + 1.0


def test_a_graph_of_python_phases() -> None:
    world = counting_world(add_one)
    step = world.capture(world.step)
    assert step is not world.step
    for _ in range(5):
        step()
    assert world["x"].eq(5.0).all() and world["timestep"].eq(5).all()


def test_python_that_changes_from_call_to_call(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[int] = []

    def phase(arrays: Any, active: torch.Tensor) -> None:
        calls.append(1)
        arrays["x"] = arrays["x"] * 2.0 + float(len(calls))

    world = counting_world(phase)
    assert world.capture(world.step) == world.step
    assert "steps run one by one: as a CUDA graph they give other results in x; see trainer.graph_steps" in caplog.text
    assert world["x"].eq(0.0).all() and world["clock"].view(torch.int64).eq(1).all()  # nothing is left of the trial


def test_a_tensor_that_is_exchanged(caplog: pytest.LogCaptureFixture) -> None:
    added: list[torch.Tensor] = []

    def phase(arrays: Any, active: torch.Tensor) -> None:
        added.append(torch.full_like(arrays["y"], len(added)))
        arrays["y"] = arrays["y"] + added[-1]

    world = counting_world(phase)
    assert world.capture(world.step) == world.step
    assert "other results in y" in caplog.text


@pytest.mark.stand_in
def test_kernels_that_are_missing_from_the_graph(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a launch on the default stream while another one is captured."""
    world = warpworld.make("cartpole", num_envs=5)
    monkeypatch.setattr(world._backend._gpu, "current_stream", lambda: 0)
    world.reset()
    before = world.snapshot()
    assert world.capture(world.step) == world.step
    assert "steps run one by one: some of them ran, instead of being captured into a CUDA graph" in caplog.text
    assert torch.equal(world.snapshot(), before)


@pytest.mark.stand_in
def test_a_phase_that_waits_for_the_device(caplog: pytest.LogCaptureFixture) -> None:
    def phase(arrays: Any, active: torch.Tensor) -> None:
        if arrays["x"].sum().item() > 0:
            arrays["x"] = 0.0

    world = counting_world(phase)
    step = world.capture(world.step)
    assert (
        "steps run one by one: a CUDA graph cannot hold aten._local_scalar_dense (CUDA error: operation not permitted "
        "when stream is capturing); a model or a Python phase that waits for the device does this: mark such a phase "
        "with @warpworld.eager_phase, or set trainer.graph_steps=0"
    ) in caplog.text
    assert step == world.step and world["x"].eq(0.0).all() and world["timestep"].eq(0).all()
    world["x"] = 1.0
    step()
    assert world["x"].eq(0.0).all()


def test_an_eager_phase_is_not_captured_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    @eager_phase
    def look(arrays: Any, active: torch.Tensor) -> None:
        if arrays["x"].sum().item() >= 0:
            arrays["x"] = arrays["x"] + 1.0

    world = counting_world(look)
    with caplog.at_level(logging.INFO, logger="warpworld"):
        assert world.capture(world.step) == world.step
    assert "Toy: steps are not captured, since look is an eager phase" in caplog.text


def test_a_model_that_draws_from_torch_is_captured_and_draws_the_same(caplog: pytest.LogCaptureFixture) -> None:
    def noisy(arrays: Any, active: torch.Tensor) -> None:
        arrays["x"] = arrays["x"] + torch.rand_like(arrays["x"])

    eager, graph = counting_world(noisy), counting_world(noisy)
    torch.manual_seed(3)
    for _ in range(4):
        eager.step()
    torch.manual_seed(3)
    step = graph.capture(graph.step)
    for _ in range(4):
        step()
    assert torch.equal(eager["x"], graph["x"])
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_no_memory_to_check_a_graph_with(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    world = counting_world(add_one)

    def refuse(out: torch.Tensor | None = None) -> torch.Tensor:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(world.data, "snapshot", refuse)
    assert world.capture(world.step) == world.step
    assert "steps run one by one: there is no memory to check a CUDA graph with" in caplog.text
