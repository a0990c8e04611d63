"""A forecast beside what a hand counts, and beside what the stand-in GPU is asked for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.stand_in.driver import StandIn
from tests.stand_in.host_calls import HostCalls
from warpworld.cli.main import main
from warpworld.cli.profile.forecast import Forecast, forecast
from warpworld.cli.profile.nodes import Node, NodeLog
from warpworld.cli.profile.rates import DEVICES, Rates, device_rates
from warpworld.config import load_config
from warpworld.managers.devices import device_names
from warpworld.trainers.spans import ROLLOUT, UPDATE, Span, recording, span
from warpworld.trainers.trainer import Trainer

ENVS, STEPS = 64, 4
SMALL = (f"trainer.num_envs={ENVS}", f"trainer.num_steps={STEPS}", "policy.*.num_minibatches=2")
PARAMETERS = (4 * 64 + 64) * 2 + (64 * 64 + 64) * 2 + (64 * 2 + 4) + (64 + 4)  # each from a multiple of four on
OF_A_STEP = ("act", "step", "reset")
ACTOR, CRITIC = 4 * 64 + 64 * 64 + 64 * 2, 4 * 64 + 64 * 64 + 64 * 1  # weights of cartpole's networks


def noted(run: Any) -> list[Node]:
    """The nodes of some work on the host's tensors."""
    log = NodeLog()
    with log, recording(log), span(UPDATE, "mine"):
        run()
    return log.of_parts().get(Span(UPDATE, "mine"), [])


def test_operations_of_torch_count_what_they_read_and_write() -> None:
    x, y = torch.ones(8, 4), torch.ones(4, 6)

    def work() -> None:
        x @ y
        x.t()  # a view
        x.add_(x)
        torch.empty(1000).copy_(torch.ones(1).expand(1000))

    product, added, ones, copied = noted(work)
    assert product == Node("mm", read=4.0 * (32 + 24), written=4.0 * 48, flop=2.0 * 8 * 4 * 6)
    assert added == Node("add_", read=4.0 * 32, written=4.0 * 32)
    assert (ones.name, ones.written) == ("ones", 4)
    assert copied == Node("copy_", read=4.0, written=4000.0)


def test_memory_that_no_kernel_filled_holds_zeros() -> None:
    """Its numbers are read, as places of rows for instance: they are legal ones."""
    found: list[Tensor] = []
    noted(lambda: found.extend((torch.empty(10_000, dtype=torch.int64), torch.ones(2).new_empty(10_000))))
    assert not any(bool(each.any()) for each in found)


def test_products_of_bfloat16_have_their_own_rate() -> None:
    x = torch.ones(8, 8, dtype=torch.bfloat16)
    (product,) = noted(lambda: x @ x)
    assert product.is_bf16
    rates = Rates(copy=1e3, float32=1.0, bf16=2.0)
    assert rates.seconds(0.0, 10.0) == 10.0 and rates.seconds(0.0, 10.0, is_bf16=True) == 5.0
    assert rates.seconds(2e4, 10.0) == 20.0 and rates.seconds(0.0, 0.0) == 0.0


@pytest.fixture(scope="module")
def found() -> Iterator[Forecast]:
    """A forecast in a process whose products a command has reduced, as on a CPU."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    yield forecast(load_config("cartpole", list(SMALL)), Rates(copy=1e12, float32=1e12, bf16=1e12))
    torch.set_float32_matmul_precision(before)


@pytest.mark.long
def test_an_iteration_is_what_a_hand_counts(found: Forecast) -> None:
    """Two floats of an env's ends are bytes; parameters, actions and step numbers are read, states also written."""
    assert found.env_steps == ENVS * STEPS and found.parts() == [Span(ROLLOUT), Span(UPDATE, "agent")]
    nodes = {line.node.name: line for line in found.of(Span(ROLLOUT)) if line.node.grid}
    assert {name: line.count for name, line in nodes.items()} == {**dict.fromkeys(OF_A_STEP, STEPS), "add_episodes": 1}
    state = seen = 4 * 4
    # actions, and a row of observations, actions and log-probabilities; flags, counters and what is not there
    assert nodes["act"].node.flop == 2 * ENVS * ACTOR
    assert nodes["act"].node.written == ENVS * (4 + seen + 4 + 4) + ENVS * (1 + 4) + 4 + (4 + 4 + 1)
    step = nodes["step"].node
    assert (step.read, step.written) == (ENVS * (7 * 4 + state), ENVS * (state + seen + 4 + 2))
    assert step.grid == "1 x 128"  # 32 envs to a warp
    assert nodes["step"].seconds == pytest.approx(STEPS * (step.read + step.written) / 1e12)
    # the critic's values of all rows, and of what follows the last
    products = [line.count * line.node.flop for line in found.of(Span(UPDATE, "agent")) if not line.node.grid]
    assert sum(products) == 2 * CRITIC * (ENVS * STEPS + 2 * ENVS)
    # all passes: forward, gradients of weights, and of what all layers but the first read
    passes = next(line for line in found.of(Span(UPDATE, "agent")) if line.node.name == "learn_passes")
    epochs, minibatches = 4, 4 * 2
    assert passes.count == 1
    assert passes.node.flop == epochs * ENVS * STEPS * 2 * (3 * (ACTOR + CRITIC) - 2 * 4 * 64)
    row, moved = seen + 5 * 4, 3 * 4 * minibatches * PARAMETERS
    assert (passes.node.read, passes.node.written) == (epochs * ENVS * STEPS * row + moved, moved)
    assert all(line.node.is_known for line in found.lines)
    assert "forecast" not in device_names()


@pytest.mark.stand_in
@pytest.mark.long
def test_a_forecast_names_the_launches_that_a_gpu_gets(stand_in: StandIn, found: Forecast) -> None:
    trainer = Trainer(load_config("cartpole", [*SMALL, "trainer.device=cuda"]))
    for _ in range(2):
        trainer._iterate()
    calls = HostCalls()
    with stand_in.recording() as launches, calls:
        trainer._iterate()
    rollout, update, _ = calls.nodes  # the third is of a line of metrics
    of_parts = [sum(line.count for line in found.of(part)) for part in (Span(ROLLOUT), Span(UPDATE, "agent"))]
    assert [rollout, update] == of_parts
    own = Counter({(line.node.name, line.node.grid): line.count for line in found.lines if line.node.grid})
    asked = Counter((each.name.removeprefix("ww_entry_"), f"{each.grid[0]:,} x {each.block[0]}") for each in launches)
    assert own == asked


@pytest.mark.long
def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["profile", "cartpole", *SMALL, "--forecast", "--rates", "2TB/s,20TFLOP/s,40TFLOP/s"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "at least" in shown and "with 2 TB/s and 20 TFLOP/s in float32" in shown
    acting = next(line.split() for line in shown.splitlines() if " act " in line)
    assert acting[:3] == ["rollout", str(STEPS), "act"] and acting[-2] == f"{2 * ENVS * ACTOR / 1e6:.2f}"
    assert main([*command, "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["env_steps"] == ENVS * STEPS
    assert read["seconds"] == pytest.approx(sum(node["seconds"] for node in read["nodes"]))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--forecast", "--rates", "h10"], "'h10', expected h200, h100, a100, 3080ti, 2080ti, or rates such as"),
        (["--forecast", "--rates", "1TB/s"], "'1TB/s' holds 1 rate, expected 3: copy in B/s"),
        (["--rates", "h100"], "--rates are those of a forecast, and this is a measurement; add --forecast"),
        (["--forecast", "--draw", "a.png"], "--forecast measures none; leave one of them out"),
        (
            ["--forecast", "trainer.precision=bf16", "--rates", "2080ti"],
            "trainer.precision is bf16, and the device of --rates has no products of bfloat16",
        ),
    ],
)
def test_bad_input_is_a_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["profile", "cartpole", *words])
    except SystemExit as ended:
        status = int(ended.code or 0)
    printed = capsys.readouterr().err.splitlines()
    assert status == 2 and said in printed[-1]


def test_a_device_has_the_rates_of_its_data_sheet() -> None:
    assert device_rates("H100") == DEVICES["h100"] == Rates(3.35e12, 67e12, 989e12)
    assert device_rates("2080 Ti").bf16 == 0.0
