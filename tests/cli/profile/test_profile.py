"""The parts of an iteration: which there are, how many operations they need, and what is made of them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from PIL import Image
from torch import nn

from warpworld.cli.main import main
from warpworld.cli.profile.advice import advice
from warpworld.cli.profile.instrumentation import ENV_STEP, GRADIENT, LOSS, POLICY, SAMPLING, STEP, VALUES
from warpworld.cli.profile.machine import Peak
from warpworld.cli.profile.operations import Operations
from warpworld.cli.profile.picture import draw_profile
from warpworld.cli.profile.profile import Profile, Row, profile
from warpworld.cli.profile.span_timer import Span
from warpworld.config.endless import load_endless
from warpworld.policies.linear_tanh import linear_tanh, pointwise

SMALL = ("trainer.num_envs=8", "trainer.num_steps=4", "policy.*.num_minibatches=2", "policy.*.update_epochs=3")
FORWARD = 2 * (4 * 64 + 64 * 64 + 64 * 2), 2 * (4 * 64 + 64 * 64 + 64 * 1)  # of cartpole's actor, and of its critic
GRADIENTS = sum(3 * each - 2 * 4 * 64 for each in FORWARD)  # no gradient at the observations


def of(found: Profile, name: str, policy: str = "agent") -> Row:
    (row,) = [row for row in found.rows if row.part == Span(name, policy)]
    return row


def test_operations_of_a_product_by_hand() -> None:
    one, other = torch.ones(3, 5), torch.ones(5, 7)
    with Operations() as counted:
        product = one @ other
        product.t()  # a view
        one.add_(one)
    assert counted.read() == (2 * 3 * 5 * 7, 4 * (15 + 35 + 21 + 15))


@pytest.mark.skipif(pointwise() is None, reason="torch has no such operation here")
def test_a_layer_with_its_activation_counts_as_its_product() -> None:
    layer = nn.Linear(6, 4)
    with Operations() as counted, torch.no_grad():
        linear_tanh(torch.ones(9, 6), layer.weight, layer.bias)
    assert counted.read()[0] == 2 * 9 * 6 * 4


@pytest.mark.long
@pytest.mark.parametrize("fused", [True, False])
def test_an_iteration_of_ppo(fused: bool) -> None:
    found = profile(load_endless("cartpole", [*SMALL, f"trainer.fused={fused}", "trainer.device=cpu"]), 0.0)
    rows = 8 * 4
    assert found.env_steps == rows and found.iterations == 3 and found.fused == ["agent"] * fused
    assert all(row.seconds >= 0 for row in found.rows) and found.seconds > 0
    assert [row.seconds for row in found.rows] == sorted((row.seconds for row in found.rows), reverse=True)
    assert of(found, POLICY).operations == rows * FORWARD[0]
    assert of(found, VALUES).operations == (rows + 8) * FORWARD[1]  # and of what follows the last step
    learnt = [row for row in found.rows if row.part.name in (GRADIENT, LOSS)]
    assert sum(row.operations for row in learnt) == 3 * rows * GRADIENTS
    assert of(found, GRADIENT).by_torch is not fused and of(found, STEP).by_torch
    assert of(found, ENV_STEP, "").operations == 0
    assert found.peak.operations > 1e8 and found.peak.nbytes > 1e7


@pytest.mark.long
@pytest.mark.parametrize("name", ["cartpole_dqn", "recall_r2d2", "pendulum_sac"])
def test_an_iteration_of_off_policy_learners(name: str) -> None:
    found = profile(load_endless(name, ["trainer.num_envs=16", "policy.*.updates=2", "trainer.device=cpu"]), 0.0)
    names = {row.part.name for row in found.rows}
    assert {"draw from the replay", "priorities", GRADIENT, STEP, POLICY, SAMPLING, ENV_STEP} <= names
    assert of(found, GRADIENT).operations > of(found, POLICY).operations > 0


def made_up(**seconds: float) -> Profile:
    """A profile of a second, whose parts have these shares; each gradient makes a tenth of the peak."""
    rows = [
        Row(Span(name.replace("_", " "), "" if name == "env_step" else "agent"), share, 1e9 * share, 1e6, True)
        for name, share in seconds.items()
    ]
    return Profile(rows, 1000, Peak(1e10, 1e10), [], "cpu", 1, 5)


@pytest.mark.parametrize(
    ("found", "overrides", "said"),
    [
        (made_up(env_step=0.6, gradient=0.4), [], ["the env step takes 60%"]),
        (made_up(policy=0.5, gradient=0.3, other=0.2), [], ["policies and sampling take 50%, on 256 envs at a time"]),
        (made_up(policy=0.5, gradient=0.3, other=0.2), ["trainer.num_envs=2048"], []),
        (made_up(gradient=0.7, other=0.3), [], ["agent: torch computes its gradient, 70% of the time, at 10%"]),
        (made_up(optimiser=0.3, gradient=0.3, other=0.4), [], ["agent: the optimiser takes 30%"]),
        (made_up(other=1.0), [], []),
        (
            made_up(gradient=0.7, other=0.3),
            ["policy.agent.model.recurrent=lstm"],
            ["agent: its lstm goes from step to step", "agent: torch computes its gradient"],
        ),
    ],
)
def test_advice_is_for_what_takes_long(found: Profile, overrides: list[str], said: list[str]) -> None:
    sentences = advice(found, load_endless("cartpole", overrides))
    assert len(sentences) == len(said)
    assert all(sentence.startswith(begin) for sentence, begin in zip(sentences, said, strict=True))


def test_fused_gradients_are_not_blamed_on_torch() -> None:
    found = dataclasses.replace(made_up(gradient=0.7, other=0.3), fused=["agent"])
    assert advice(found, load_endless("cartpole")) == []


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    path = draw_profile(made_up(gradient=0.7, other=0.299, policy=0.001), "cartpole", tmp_path / "profile.png")
    with Image.open(path) as picture:
        assert picture.size[0] == 832 and len(picture.getcolors(1 << 20) or []) > 10


@pytest.mark.long
def test_the_command_prints_a_table_and_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "profile.png"
    words = ["profile", "cartpole", *SMALL, "--seconds", "0.1", "--device", "cpu"]
    assert main([*words, "--draw", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[0] == "part" and lines[0].endswith("of memory's peak")
    assert any(line.startswith("gradient") and "agent" in line for line in lines)
    assert any("ms for 32 env steps, mean of" in line and "a plain product makes" in line for line in lines)
    assert path.is_file() and sorted(tmp_path.iterdir()) == [path]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {part["part"] for part in found["parts"]} >= {GRADIENT, POLICY, ENV_STEP}
    assert found["env_steps"] == 32 and found["peak_operations_per_s"] > 0


def test_a_config_that_does_not_exist_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "cartpol"]) == 2
    assert "Did you mean 'cartpole'?" in capsys.readouterr().err
