"""Floors: what a step needs beside counts by hand, and the speeds that follow from it."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.clock import Timing
from benchmarks.gpu import breakout, page, rates
from benchmarks.gpu.cases import CARTPOLE, TAG_GRIDWORLD, build_trainer, build_world
from benchmarks.gpu.floors import Floor, Rates, add_floors, floor_of
from benchmarks.gpu.limit import operations
from benchmarks.gpu.needs import Needs, of_iteration, of_rollout, of_view, of_world
from benchmarks.gpu.part import Context
from benchmarks.gpu.summary import print_summary
from warpworld import World
from warpworld.config import load_config
from warpworld.environment import get_environment
from warpworld.trainers.trainer import Trainer

CARD = Rates(copy=3e12, float32=60e12, bf16=800e12)

# Of every env: ends 2 x 1 written; timestep 4, clock 8 and active 1 read and written; key 8 and stream 4 only read.
WORLDS_OWN = 2 + 2 * (4 + 8 + 1) + 8 + 4


# ---- what a step needs ----------------------------------------------------------------------------------------------


def test_bytes_of_cartpole_are_those_that_a_hand_counts() -> None:
    # 4 floats seen, an action and a reward; 4 floats of state read and written; 5 parameters of the env only read
    assert of_world(build_world(CARTPOLE.smaller(3, 4), "cpu")) == Needs(16 + 4 + 4 + 2 * 16 + 5 * 4 + WORLDS_OWN)


SEEN = 5 * 21 * 4  # 21 numbers by each of 5 agents
ACTIONS = REWARDS = LOG_PROBS = 5 * 4
GRIDWORLD = SEEN + ACTIONS + REWARDS + 2 * (20 + 20) + WORLDS_OWN  # columns and rows of 5 agents are its state
ROW = SEEN + ACTIONS + LOG_PROBS + REWARDS + 2  # with two ends
ACTOR = 2 * (21 * 32 + 32 * 32 + 32 * 5)  # FLOP of an agent
CRITIC = 2 * (21 * 32 + 32 * 32 + 32 * 1)


def test_needs_of_tag_are_those_that_a_hand_counts() -> None:
    trainer = build_trainer(TAG_GRIDWORLD.smaller(3, 4), "cpu")
    assert of_world(trainer.world) == Needs(GRIDWORLD)  # what the trainer adds to the store is not the world's
    assert of_rollout(trainer) == Needs(GRIDWORLD + ROW, 5 * ACTOR)
    assert of_iteration(trainer) == Needs(GRIDWORLD + 2 * ROW, 5 * ACTOR + 3 * 5 * (ACTOR + CRITIC))


@pytest.mark.long
def test_needs_of_breakout_are_those_that_a_hand_counts() -> None:
    case = breakout.BREAKOUT.smaller(8, 4)
    trainer = Trainer(breakout.config_of(case, "cpu", breakout.precision_on("cpu")))
    # last action, paddle, ball, trail, bricks and whether it struck are read and written
    world = 400 + 4 + 4 + 2 * (4 + 4 + 16 + 8 + 4 + 1) + WORLDS_OWN
    memory = 4 * 32 * 4
    row = 400 + 4 + 4 + 4 + 4 + 2 + memory / 4  # with values; the first state is kept once in 4 steps
    shared = 400 * 32 + 4 * 32 * 64  # an encoder, and gates and candidates of each layer
    actor, critic = 2 * (shared + 32 * 3), 2 * 32
    assert of_world(trainer.world).bytes == world
    found = of_iteration(trainer)
    assert found.bytes == world + 2 * memory + 2 * row
    assert found.flop == actor + 3 * (actor + critic)
    assert found.precision == trainer.config.trainer.precision


def test_a_view_needs_the_lane_operations_of_all_agents() -> None:
    world = World(get_environment("deathmatch")(plans="box", res=64, subsample=1, players=2, rivals=1), 2, "cpu")
    assert of_view(world).lane_operations == 3 * operations(4 + 3 * 8, 64, 70.0)


@pytest.mark.long
def test_an_update_from_a_replay_needs_its_batches() -> None:
    sizes = ["trainer.num_envs=4", "trainer.num_steps=2", "trainer.device=cpu"]
    batches = ["policy.agent.batch_size=32", "policy.agent.updates=3"]
    trainer = Trainer(load_config("cartpole_dqn", [*sizes, *batches]))
    forward = of_rollout(trainer).flop
    assert of_iteration(trainer).flop == pytest.approx(forward + 3 * forward * 32 * 3 / (4 * 2))


# ---- floors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("needs", "floor"),
    [
        (Needs(300.0), Floor(1e-10, "bytes")),
        (Needs(300.0, flop=6e3), Floor(1e-10, "bytes")),
        (Needs(300.0, flop=60e3), Floor(1e-9, "products")),
        (Needs(300.0, flop=800e3, precision="bf16"), Floor(1e-9, "products")),
        (Needs(300.0, flop=60e3, lane_operations=60e3), Floor(2e-9, "lanes")),
    ],
)
def test_the_slowest_of_three_is_the_floor(needs: Needs, floor: Floor) -> None:
    found = floor_of(needs, CARD)
    assert (found.by, found.seconds) == (floor.by, pytest.approx(floor.seconds))
    assert found.env_steps_per_s == pytest.approx(1 / floor.seconds)


def results_of(speed: float, measured: bool = True) -> dict[str, Any]:
    """Results of a run whose only row needs 300 bytes a step."""
    rate = {"copy_bytes_per_s": 3e12, "float32_flop_per_s": 60e12, "bf16_flop_per_s": 800e12}
    needs = {"bytes": 300.0, "flop": 0.0, "lane_operations": 0.0, "precision": "float32"}
    row = {"world": "cartpole", "column": "simulation", "num_envs": 65536, "agents": 1, "needs": needs}
    row |= {"env_steps_per_s": speed, "agent_steps_per_s": speed, "memory_bytes": 0, "spread": 0.0}
    parts = {"cartpole": {"rows": [row, {**row, "needs": None}]}, "rates": {**rate, "headline": "copy 3 TB/s"}}
    end = {"title": "", "status": "passed", "reason": ""}
    about = {"device": "A GPU", "commit": "a", "date": "", "quick": False, "host": {"device": "", "cores": 1}}
    return {**about, "parts": {name: {**end, "figures": parts[name]} for name in list(parts)[: 1 + measured]}}


def test_a_share_of_one_is_the_floor_itself() -> None:
    results = results_of(speed=1e10)
    add_floors(results)
    row, other = results["parts"]["cartpole"]["figures"]["rows"]
    assert (row["floor_env_steps_per_s"], row["floor_by"]) == (pytest.approx(1e10), "bytes")
    assert row["share"] == pytest.approx(1.0)
    assert "share" not in other  # it does not say what it needs


def test_without_rates_there_is_no_floor(capsys: pytest.CaptureFixture[str]) -> None:
    results = results_of(speed=1e10, measured=False)
    add_floors(results)
    assert "share" not in results["parts"]["cartpole"]["figures"]["rows"][0]
    print_summary(results)
    assert "floor" not in capsys.readouterr().out
    assert "No floors: what a copy and products reach was not measured in this run." in page.text_of(results)


def test_the_table_and_the_page_show_floors(capsys: pytest.CaptureFixture[str]) -> None:
    results = results_of(speed=2.5e9)
    add_floors(results)
    print_summary(results)
    shown = [[cell.strip() for cell in line.split("│")] for line in capsys.readouterr().out.splitlines()]
    assert ["", "cartpole, 65,536 x 1, simulation", "2.5 G", "10 G", "bytes", "25.00%", ""] in shown
    text = page.text_of(results)
    assert "| cartpole | 65,536 x 1 | simulation | 2.5 G | 2.5 G | 0.00 | 0% | 10 G | bytes | 25.00% |" in text
    assert "Rates measured in the same run: copy 3 TB/s, float32 60 TFLOP/s, bf16 800 TFLOP/s." in text


# ---- the parts -------------------------------------------------------------------------------------------------------


def test_rates_are_those_of_the_best_window(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter((0.5, 0.25, 0.125))  # of a copy, and of products in float32 and in bfloat16

    def measure(call: Any, *arguments: Any) -> Timing:
        call()
        return Timing(median=9.0, best=next(seconds), spread=0.0)

    monkeypatch.setattr(rates, "measure", measure)
    rates.measure_rates(context)
    figures = context.figures
    assert figures["copy_bytes_per_s"] == 2 * figures["copied_bytes"] / 0.5
    assert figures["float32_flop_per_s"] == 2 * figures["side"] ** 3 / 0.25
    assert figures["bf16_flop_per_s"] == 2 * figures["side"] ** 3 / 0.125
    assert figures["headline"] == "copy 2.62e-07 TB/s, float32 2.1e-06 TFLOP/s, bf16 4.19e-06 TFLOP/s"


@pytest.mark.long
@pytest.mark.parametrize(("has", "precision"), [(False, "float32"), (True, "bf16")])
def test_breakout_is_trained_in_the_precision_that_there_is(
    has: bool, precision: str, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has and breakout.precision_on("cpu") != "bf16":
        pytest.skip("this processor has no products of bfloat16")
    monkeypatch.setattr(breakout, "products_of", lambda *_: (has, ""))
    breakout.train(context)
    rows = {row["column"]: row for row in context.figures["rows"]}
    assert set(rows) == {"inference", "training"}
    assert {row["precision"] for row in rows.values()} == {precision} == {rows["training"]["needs"]["precision"]}
    assert (rows["training"]["graphs"], rows["training"]["update_graphs"]) == (False, False)  # there are none on cpu
    assert context.figures["headline"].endswith(f"env steps/s in {precision}, graphs of rollouts no, of updates no")
