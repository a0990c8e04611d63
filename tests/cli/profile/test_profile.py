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
from warpworld.cli.profile.operations import Operations
from warpworld.cli.profile.peak import Peak
from warpworld.cli.profile.picture import draw_profile
from warpworld.cli.profile.profile import Profile, Row, profile
from warpworld.config import config_from_dict
from warpworld.config.endless_config import load_endless
from warpworld.policies.layers.linear_tanh import linear_tanh, pointwise
from warpworld.trainers.spans import (
    ACT_AND_STEP,
    CHECKS,
    ENV_STEP,
    GRADIENT,
    LOSS,
    NORMALISER,
    ORDER,
    OTHER,
    PASSES,
    POLICY,
    RETURNS,
    ROLLOUT,
    SAMPLING,
    STEP,
    UPDATE,
    VALUES,
    Span,
)

pytestmark = pytest.mark.cpu_backend  # its parts; those of CUDA graphs are in tests/trainers/test_spans.py

SMALL = ("trainer.num_envs=8", "trainer.num_steps=4", "policy.*.num_minibatches=2", "policy.*.update_epochs=3")
APART = {POLICY: "agent", SAMPLING: "agent", ENV_STEP: ""}  # parts of a rollout that Python calls one by one
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


def test_products_of_bfloat16_count_as_those_of_float32() -> None:
    """With a relu within, and with a result in float32, for which only a GPU has kernels: a tensor without numbers."""
    bias, x, weight = (torch.ones(shape, dtype=torch.bfloat16, device="meta") for shape in ((4,), (9, 6), (6, 4)))
    with Operations() as counted:
        torch._addmm_activation(bias, x, weight)
    assert counted.read()[0] == 2 * 9 * 6 * 4
    with Operations() as counted:
        torch.mm(x, weight, out_dtype=torch.float32)
        torch.bmm(x.expand(3, 9, 6), weight.expand(3, 6, 4), out_dtype=torch.float32)
    assert counted.read()[0] == 4 * 2 * 9 * 6 * 4


@pytest.mark.long
@pytest.mark.parametrize("overrides", [[], ["policy.agent.target_kl=1.0"], ["trainer.fused=false"]])
def test_an_iteration_of_ppo(overrides: list[str]) -> None:
    """One call of C++ is one row, with the operations of all that it does."""
    fused, rows = not overrides or "fused" not in overrides[0], 8 * 4
    found = profile(load_endless("cartpole", [*SMALL, *overrides, "trainer.device=cpu"]), 0.0)
    assert found.env_steps == rows and found.iterations == 3 and found.fused == ["agent"] * fused
    assert all(row.seconds >= 0 for row in found.rows) and found.seconds > 0
    assert [row.seconds for row in found.rows] == sorted((row.seconds for row in found.rows), reverse=True)
    rollout = {ACT_AND_STEP: ""} if fused else APART
    update = [PASSES] if fused else [GRADIENT, LOSS, STEP]
    learner = dict.fromkeys((*update, VALUES, ORDER, RETURNS, NORMALISER, UPDATE), "agent")
    whole = dict.fromkeys((ROLLOUT, CHECKS, OTHER), "")
    assert {(row.part.name, row.part.policy) for row in found.rows} == {**rollout, **learner, **whole}.items()
    assert sum(row.operations for row in found.rows if row.part.name in rollout) == rows * FORWARD[0]
    assert of(found, VALUES).operations == (rows + 8) * FORWARD[1]  # and of what follows the last step
    learnt = [row for row in found.rows if row.part.name in update]
    assert sum(row.operations for row in learnt) == 3 * rows * GRADIENTS
    assert all(row.by_torch is not fused for row in learnt)
    assert found.peak.operations > 1e8 and found.peak.nbytes > 1e7


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "acting"),
    [*((name, {ACT_AND_STEP: ""}) for name in ("cartpole_dqn", "recall_r2d2")), ("pendulum_sac", APART)],
    ids=str,
)
def test_an_iteration_of_off_policy_learners(name: str, acting: dict[str, str]) -> None:
    found = profile(load_endless(name, ["trainer.num_envs=16", "policy.*.updates=2", "trainer.device=cpu"]), 0.0)
    names = {row.part.name for row in found.rows}
    assert {"draw from the replay", "priorities", GRADIENT, STEP, *acting} <= names
    assert of(found, GRADIENT).operations > of(found, *next(iter(acting.items()))).operations > 0


def made_up(**seconds: float) -> Profile:
    """A profile of a second, whose parts have these shares; each gradient makes a tenth of the peak."""
    rows = [
        Row(Span(name.replace("_", " "), "" if name == "env_step" else "agent"), share, 1e9 * share, 1e6, True)
        for name, share in seconds.items()
    ]
    return Profile(rows, 1000, Peak(1e10, 1e10), [], "cpu", 1, 5)


def acting_in_one_call(share: float) -> Profile:
    found = made_up(acting=share, other=1.0 - share)
    return dataclasses.replace(
        found, rows=[dataclasses.replace(found.rows[0], part=Span(ACT_AND_STEP)), *found.rows[1:]]
    )


@pytest.mark.parametrize(
    ("found", "overrides", "said"),
    [
        (made_up(env_step=0.6, gradient=0.4), [], ["the env step takes 60%"]),
        (made_up(env_step=0.3, other=0.7), [], []),
        (acting_in_one_call(0.6), [], ["policies, sampling and env step take 60%, in one call of C++ a rollout"]),
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


def test_a_graph_is_said_to_be_one_part() -> None:
    found = dataclasses.replace(made_up(update=0.7, other=0.3), device="cuda")
    assert ["a CUDA graph is one part" in sentence for sentence in advice(found, load_endless("cartpole"))] == [True]
    assert advice(found, load_endless("cartpole", ["trainer.graph_steps=0"])) == []


@pytest.mark.long
def test_groups_of_one_policy_are_one_part() -> None:
    config = load_endless(
        "tag_gridworld",
        ["trainer.num_envs=4", "trainer.num_steps=5", "trainer.device=cpu", "policy.*.num_minibatches=1"],
    )
    data = config.to_dict()
    data["policy"] = {"both": {**data["policy"]["tagger"], "groups": ["tagger", "runner"], "num_minibatches": 1}}
    data["trainer"]["fused"] = False
    found = profile(config_from_dict(data), 0.0)
    assert {row.part.policy for row in found.rows if row.part.name in (POLICY, SAMPLING, STEP)} == {"both"}


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
    assert any(line.startswith(PASSES) and "agent" in line for line in lines)
    assert any("ms for 32 env steps, mean of" in line and "a plain product makes" in line for line in lines)
    assert path.is_file() and sorted(tmp_path.iterdir()) == [path]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {part["part"] for part in found["parts"]} >= {PASSES, VALUES, ACT_AND_STEP}
    assert found["env_steps"] == 32 and found["peak_operations_per_s"] > 0


def test_a_config_that_does_not_exist_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "cartpol"]) == 2
    assert "Did you mean 'cartpole'?" in capsys.readouterr().err
