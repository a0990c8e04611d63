"""What processes send is counted as it is sent, and the model is its formula."""

from __future__ import annotations

import pytest

from benchmarks.scaling import Network, main, pays_up_to, speedup
from benchmarks.traffic import CountingGroup, Traffic, traffic
from warpworld.config import load_config
from warpworld.trainers.trainer import Trainer

SMALL = ("num_envs=8", "num_steps=8", "num_minibatches=4", "update_epochs=3")
NETWORK = Network(
    gpus_per_node=8,
    seconds_inside=1e-6,
    seconds_between=1e-5,
    bytes_inside=1e9,
    bytes_between=1e8,
    seconds_per_call=1e-4,
)


@pytest.mark.cpu_backend
@pytest.mark.long
def test_a_gradient_is_sent_for_each_minibatch() -> None:
    group = CountingGroup(size=2, local_size=2)
    overrides = [*SMALL, "total_env_steps=64", "trainer.device=cpu"]
    trainer = Trainer(load_config("cartpole", overrides), processes=group)
    learner = trainer.algorithms["agent"]
    gradient = 4 * (len(learner.parameters.vector) + len(learner.loss_diagnostics))  # type: ignore[attr-defined]
    group.sent.clear()
    trainer.train(None)
    assert group.sent.count(gradient) == 3 * 4
    counted = traffic("cartpole", *SMALL)
    assert counted.largest == gradient
    assert 12 * gradient < counted.total < 12 * gradient + 1000  # all others are short
    assert counted.parameters == sum(weight.numel() for weight in trainer.policies["agent"].parameters())  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        (2, 1e-4 + 2 * 1e-6 + 2 * 1 / 2 * 1e6 / 1e9),
        (8, 1e-4 + 2 * 3e-6 + 2 * 7 / 8 * 1e6 / 1e9),
        (32, 1e-4 + 2 * 3e-6 + 2 * 2e-5 + 2 * 7 / 8 * 1e6 / 1e9 + 2 * 3 / 4 * 1e6 / 8 / 1e8),
    ],
)
def test_seconds_of_a_sum_by_hand(gpus: int, expected: float) -> None:
    assert NETWORK.seconds(1_000_000, gpus) == pytest.approx(expected)
    assert NETWORK.per_iteration(Traffic("", 0, 5, 5_000_000, 0), gpus) == pytest.approx(5 * expected)


def test_where_more_gpus_stop_paying() -> None:
    def together(gpus: int) -> float:
        return 0.0 if gpus == 1 else 0.1

    assert speedup(1.0, together, 2) == pytest.approx(1 / 0.6)
    assert speedup(1.0, together, 4) == pytest.approx(1 / 0.35)
    assert pays_up_to(1.0, together) == 8  # 1.67, 1.71, 1.56 and then 1.38 times as fast
    assert pays_up_to(1.0, lambda gpus: 0.0) == 1024
    assert NETWORK.per_iteration(Traffic("", 0, 5, 50, 10), 1) == 0.0


@pytest.mark.cpu_backend
@pytest.mark.exhaustive
@pytest.mark.long
def test_the_tables(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("benchmarks.scaling.traffic", lambda name: Traffic(name, 10, 3, 300, 200))
    monkeypatch.setattr("benchmarks.all_reduce.SECONDS", 60)
    main(["cartpole"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "| `cartpole` | 10 | 3 | 300 | 200 |"
    measured = [line.split("|")[1:4] for line in lines if line.startswith(("| 4 |", "| 10,000,000 |"))]
    assert [float(cell) > 0 for row in measured for cell in [row[2].replace(",", "")]] == [True, True]
    assert lines[-1].startswith("| `cartpole` |") and len(lines[-1].split("|")) == 9
