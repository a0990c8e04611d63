"""Whole on-policy updates as CUDA graphs: what is learnt is what would have been, bit for bit."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch

from tests.stand_in.driver import StandIn
from tests.stand_in.host_calls import HostCalls
from tests.trainers.test_resumed_courses import COURSES, MEMORY, ONE, REMEMBERING_CRITIC
from warpworld.config import config_from_dict, load_config
from warpworld.errors import ConfigError
from warpworld.trainers.algorithms.on_policy import OnPolicy
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cuda_backend

ON_POLICY = (
    *("cartpole", "normalised observations", "a2c with schedules", "python phases", "agents that leave", "lstm"),
    *("gru, frozen gru and v-trace", "named observations"),
)
RELAY = "tests.trainers.small_worlds:Relay"
WAYS: dict[str, dict[str, Any]] = {
    **{name: COURSES[name] for name in ON_POLICY},
    "all that may change": {
        "name": "cartpole",
        "policy": {
            "agent": {
                **ONE,
                "learning_rate": [[0, 0.01], [200, 0.001]],
                "clip_coef": [[0, 0.1], [250, 0.3]],
                "ent_coef": [[0, 0.5], [250, 0.0]],
                "vf_coef": [[0, 1.0], [250, 0.1]],
            }
        },
    },
    "popart, normalised, agents that leave": {
        "name": RELAY,
        "policy": {
            "left": {**ONE, "normalise_returns": "popart", "model": {"normalise_observations": True}},
            "right": {**ONE, "value_targets": "vtrace"},
        },
    },
    "mingru": {"name": "cartpole", "policy": {"agent": {**ONE, "model": {**MEMORY, "recurrent": "mingru"}}}},
    "bf16, beside an off-policy learner": COURSES["bf16"],
    "a Box": {"name": "pendulum", "env": {"episode_length": 5}, "policy": {"agent": ONE}},
    "mappo": {"name": "tag_gridworld", "policy": {"tagger": {**ONE, "algorithm": "mappo"}, "runner": ONE}},
    "a critic with memory": {
        "name": "tag_gridworld",
        "env": {"episode_length": 6},
        "policy": {"tagger": REMEMBERING_CRITIC, "runner": {"algorithm": "random"}},
    },
}


def trained(course: dict[str, Any], graph_steps: int) -> tuple[Trainer, list[dict[str, Any]]]:
    """A trainer after six updates, and its metrics."""
    trainer = {"num_envs": 6, "num_steps": 8, "total_env_steps": 288, "graph_steps": graph_steps, "seed": 3}
    settings = {**course, "trainer": {**trainer, **course.get("trainer", {})}}
    made, metrics = Trainer(config_from_dict(settings)), list[dict[str, Any]]()
    made.train(None, metrics.append)
    return made, metrics


@pytest.mark.usefixtures("bf16_everywhere")
@pytest.mark.parametrize("way", WAYS)
def test_captured_updates_equal_eager_ones(way: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        (eager, metrics), (captured, of_captured) = trained(WAYS[way], 0), trained(WAYS[way], 4)
    assert "one by one" not in caplog.text
    for name, policy in eager.policies.items():
        for key, value in policy.state_dict().items() if policy is not None else ():
            assert torch.equal(value, captured.policies[name].state_dict()[key]), key  # type: ignore[union-attr]
    for one, other in zip(metrics, of_captured, strict=True):
        untimed = [{key: each[key] for key in each if not key.startswith(("perf/", "time"))} for each in (one, other)]
        assert repr(untimed[0]) == repr(untimed[1])  # NaN where no episode ended
    losses = [value for name, value in metrics[-1].items() if name.startswith("losses/")]
    assert losses and any(losses)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each update that Python does."""
    done, learn = list[int](), OnPolicy._learn_on_device

    def count(self: OnPolicy) -> None:
        done.append(1)
        learn(self)

    monkeypatch.setattr(OnPolicy, "_learn_on_device", count)
    return done


def test_python_does_no_update_once_it_is_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    done = counted(monkeypatch)
    trained(WAYS["agents that leave"], 4)
    assert len(done) == 2  # to warm up, and to be captured


@pytest.mark.stand_in
def test_few_calls_of_the_host_make_an_iteration(stand_in: StandIn) -> None:
    """With all of the packaged config's steps, passes and minibatches, and fewer envs, whose number adds no call."""
    overrides = ["trainer.num_envs=8", "trainer.total_env_steps=4800", "saving.log_every=5"]
    trainer = Trainer(load_config("tag_gridworld", overrides))
    for _ in range(2):
        trainer._iterate()
    calls = HostCalls()
    with stand_in.recording() as launches, calls:
        trainer._iterate()
    held = trainer.collector.num_steps * 4 + len(trainer.algorithms)  # kernels of steps, and of orders
    counts = {**calls.counts, "kernels": len(launches) - held}
    assert counts == {"graph": 3, "aten.copy_": 2, "kernels": 1, "read": 1}
    assert sum(counts.values()) <= 12


def test_what_is_read_after_each_pass_is_not_captured(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done = counted(monkeypatch)
    with caplog.at_level(logging.INFO):
        trained(COURSES["target_kl"], 4)
    assert len(done) == 6
    assert "agent: updates are not captured: whether another pass follows is read after each" in caplog.text


def test_a_loaded_state_is_learnt_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimiser's moments lie elsewhere then, so that the graph of before would write to nowhere."""
    course = {"name": "cartpole", "policy": {"agent": {**ONE, "anneal_lr": False}}}
    (trainer, _), (other, _) = (trained(course, 4) for _ in range(2))
    state = trainer.state_dict()
    before = {name: value.clone() for name, value in state["policies"]["agent"].items()}
    other.load_state_dict(state)
    done = counted(monkeypatch)
    for each in (trainer, other):
        each.collector.collect()
        each.collector.check_finite()
        each._learn()
    assert len(done) == 2  # the other's, to be captured again
    after = [each.policies["agent"].state_dict() for each in (trainer, other)]  # type: ignore[union-attr]
    assert all(torch.equal(value, after[1][name]) for name, value in after[0].items())
    assert not any(torch.equal(value, before[name]) for name, value in after[0].items() if "weight" in name)


def test_fused_networks_cannot_be_required_where_graphs_are_captured() -> None:
    trainer = {"num_envs": 2, "num_steps": 4, "total_env_steps": 8, "fused": "required"}
    config = config_from_dict({"name": "cartpole", "trainer": trainer, "policy": {"agent": {"num_minibatches": 1}}})
    with pytest.raises(ConfigError, match=r"trainer.fused is required, but the device is \w+, whose policies"):
        Trainer(config)


def test_the_learning_rate_falls_on_the_device() -> None:
    trainer, metrics = trained({"name": "cartpole", "policy": {"agent": {**ONE, "learning_rate": 0.006}}}, 4)
    algorithm = trainer.algorithms["agent"]
    assert isinstance(algorithm, OnPolicy)
    assert float(algorithm.parameters.rate_on_device()) == pytest.approx(0.001)  # a sixth of the run is left
    assert metrics[-1]["charts/agent/learning_rate"] == pytest.approx(0.001)
