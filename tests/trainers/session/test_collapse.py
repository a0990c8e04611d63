"""Learning that has collapsed is noticed, once per policy and cause; learning that goes well is not disturbed."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from warpworld.config import RunConfig, load_config
from warpworld.trainers.session.collapse import CollapseDetector
from warpworld.trainers.trainer import Trainer

Reading = dict[str, float | None]


def warned(caplog: pytest.LogCaptureFixture, readings: Iterable[Reading], name: str = "cartpole") -> list[str]:
    """What is said of readings of the policy ``agent``, each of episodic_return, entropy, value_loss and grad_norm."""
    watch = CollapseDetector(load_config(name))
    for reading in readings:
        kinds = {key: "charts" if key == "episodic_return" else "losses" for key in reading}
        watch.update({f"{kinds[key]}/agent/{key}": value for key, value in reading.items()})
    return [record.getMessage() for record in caplog.records]


def played(rewards: Iterable[float], entropies: Iterable[float]) -> list[Reading]:
    return [{"episodic_return": a, "entropy": b} for a, b in zip(rewards, entropies, strict=True)]


def test_a_dead_policy(caplog: pytest.LogCaptureFixture) -> None:
    noise = random.Random(1)
    rewards = [200.0 + noise.uniform(-9, 9) for _ in range(30)] + [9.0 + noise.uniform(-1, 1) for _ in range(40)]
    entropies = [0.69 - 0.02 * i for i in range(30)] + [1e-5] * 40
    (line,) = warned(caplog, played(rewards, entropies))
    assert line.startswith(
        "policy 'agent' has stopped learning: entropy 1e-05 (0.69 at first), and the mean return fell "
    )
    assert line.endswith(". Try a higher policy.agent.ent_coef or a lower policy.agent.learning_rate")


@pytest.mark.parametrize(
    ("rewards", "entropy"),
    [
        ([100.0 + i for i in range(100)], 1e-6),  # it is certain, and right
        ([200.0] * 50 + [9.0] * 50, 0.3),  # it forgot, but still explores
        ([random.Random(i).gauss(0.0, 1.0) for i in range(2000)], 1e-6),  # nothing but noise
    ],
)
def test_policies_that_are_not_dead(caplog: pytest.LogCaptureFixture, rewards: list[float], entropy: float) -> None:
    entropies = [0.69, *[entropy] * (len(rewards) - 1)]
    assert warned(caplog, played(rewards, entropies)) == []


@pytest.mark.parametrize(
    ("key", "large", "line"),
    [
        ("grad_norm", 4e4, "grad_norm is 4e+04, and 0.5 before"),
        ("value_loss", 7e8, "value_loss is 7e+08, and 0.5 before"),
    ],
)
def test_numbers_that_explode(caplog: pytest.LogCaptureFixture, key: str, large: float, line: str) -> None:
    assert warned(caplog, [{key: value} for value in [0.5] * 12 + [large] * 30]) == [
        f"policy 'agent' has stopped learning: {line}. Try a lower policy.agent.learning_rate or "
        "a lower policy.agent.max_grad_norm or smaller rewards"
    ]


@pytest.mark.parametrize(
    "values",
    [
        [1e-9] * 50 + [0.5] * 50,  # rewards were found
        [0.5] * 12 + [1e6, 1e6] + [0.5] * 20,  # two spikes
        [3e5] * 50 + [4e6] * 50,  # always large
        [1e9, *[0.1] * 40],  # large at first
    ],
)
def test_numbers_that_do_not(caplog: pytest.LogCaptureFixture, values: list[float]) -> None:
    assert warned(caplog, [{"value_loss": value, "grad_norm": None} for value in values]) == []


def test_each_policy_has_its_own_warnings(caplog: pytest.LogCaptureFixture) -> None:
    watch = CollapseDetector(load_config("tag_gridworld", ["policy.runner.algorithm=dqn"]))
    for value in [1.0] * 10 + [1e7] * 9:
        watch.update({f"losses/{name}/grad_norm": value for name in ("tagger", "runner")})
    assert [record.getMessage().split(".")[0] for record in caplog.records] == [
        f"policy '{name}' has stopped learning: grad_norm is 1e+07, and 1 before" for name in ("tagger", "runner")
    ]


def learnt(caplog: pytest.LogCaptureFixture, config: RunConfig) -> list[str]:
    watch = CollapseDetector(config)
    Trainer(config).train(None, on_iteration=watch.update)
    return [record.getMessage() for record in caplog.records if "stopped learning" in record.getMessage()]


@pytest.mark.slow
@pytest.mark.cpu_backend
def test_a_training_that_goes_wrong(caplog: pytest.LogCaptureFixture) -> None:
    """CartPole is learnt, then forgotten for good by steps that are far too large."""
    schedule = "policy.agent.learning_rate=[[0, 0.003], [150_000, 0.003], [150_001, 3.0]]"
    words = ["trainer.device=cpu", "trainer.total_env_steps=500_000", "policy.agent.anneal_lr=false"]
    config = load_config("cartpole", [*words, schedule, "policy.agent.max_grad_norm=1e9"])
    found = learnt(caplog, config)
    assert found
    assert all(line.startswith("policy 'agent' has stopped learning: ") for line in found)
