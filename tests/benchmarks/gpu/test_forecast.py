"""The forecast: rates that are read or refused, and the table that follows from them."""

from __future__ import annotations

import re

import pytest

from benchmarks.gpu import forecast, main
from benchmarks.gpu.cases import CARTPOLE, TAG_GRIDWORLD
from warpworld.cli.profile.rates import Rates, device_rates

SUCH_AS = "; such as 3.0TB/s,67TFLOP/s,798TFLOP/s"
POSITIVE = "expected a positive number and a unit of {}, with k, M, G, T or P before it" + SUCH_AS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.0TB/s,67TFLOP/s,798TFLOP/s", Rates(3e12, 67e12, 798e12)),
        ("3.0 TB/s, 67 TFLOP/s , 1 PFLOP/s", Rates(3e12, 67e12, 1e15)),
        ("200e3MB/s,5kFLOP/s,7FLOP/s", Rates(2e11, 5e3, 7.0)),
        ("1.5e2GB/s,2GFLOP/s,2e9FLOP/s", Rates(1.5e11, 2e9, 2e9)),
    ],
)
def test_rates_are_read(text: str, expected: Rates) -> None:
    assert device_rates(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "3TB/s,67TFLOP/s",
            "'3TB/s,67TFLOP/s' holds 2 rates, expected 3: copy in B/s, float32 product in FLOP/s, bf16 product in "
            "FLOP/s" + SUCH_AS,
        ),
        ("3,67TFLOP/s,798TFLOP/s", "copy '3', " + POSITIVE.format("B/s")),
        ("3TFLOP/s,67TFLOP/s,798TFLOP/s", "copy '3TFLOP/s', " + POSITIVE.format("B/s")),
        ("3TB/s,-67TFLOP/s,798TFLOP/s", "float32 product '-67TFLOP/s', " + POSITIVE.format("FLOP/s")),
        ("3TB/s,0TFLOP/s,798TFLOP/s", "float32 product '0TFLOP/s', " + POSITIVE.format("FLOP/s")),
        ("3TB/s,67TFLOP/s,nanTFLOP/s", "bf16 product 'nanTFLOP/s', " + POSITIVE.format("FLOP/s")),
        ("3TB/s,67TFLOP/s,infFLOP/s", "bf16 product 'infFLOP/s', " + POSITIVE.format("FLOP/s")),
        ("3TB/s,67TFLOP/s,1e9999FLOP/s", "bf16 product '1e9999FLOP/s', " + POSITIVE.format("FLOP/s")),
        ("3ZB/s,67TFLOP/s,798TFLOP/s", "copy '3ZB/s', " + POSITIVE.format("B/s")),
        ("TB/s,67TFLOP/s,798TFLOP/s", "copy 'TB/s', " + POSITIVE.format("B/s")),
    ],
)
def test_malformed_rates_are_refused_in_a_line(text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main.main([f"--forecast={text}"])
    assert refused.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"python -m benchmarks.gpu: error: argument --forecast: {said}"


@pytest.mark.long
def test_the_forecast_is_of_what_a_hand_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(forecast, "SIMULATIONS", ((CARTPOLE, "cartpole 65,536, random actions"),))
    monkeypatch.setattr(forecast, "VIEWS", ())
    monkeypatch.setattr(forecast, "TRAININGS", ((TAG_GRIDWORLD, None, "... training beside WarpDrive's"),))
    assert main.main(["--forecast", "3TB/s,63.04TFLOP/s,800TFLOP/s"]) == 0
    shown = [re.split(r"  +", line.strip()) for line in capsys.readouterr().out.splitlines()]
    cartpole = ["cartpole", "1", "simulation", "116", "25.9 G", "25.9 G", "bytes", "5 G env steps/s"]
    assert cartpole in shown  # 3e12 / 116
    training = ["tag_gridworld", "5", "training", "1.54 k", "126 k", "500 M", "2.5 G", "products"]
    assert [*training, "5 times WarpDrive's"] in shown  # 63.04e12 / 126,080


def test_what_the_forecast_names_is_wanted() -> None:
    labels = [label for _, *named in (*forecast.SIMULATIONS, *forecast.VIEWS, *forecast.TRAININGS) for label in named]
    assert all((forecast._target(label) == "") == (label is None) for label in labels)
