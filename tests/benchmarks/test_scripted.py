"""The rules whose returns stand beside those of policies."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from benchmarks.experiments import experiment
from benchmarks.scripted import boards, cases, minatar, particles
from benchmarks.scripted.cases import CASES, by
from benchmarks.scripted.main import main
from warpworld.config import load_config
from warpworld.trainers.play import play

FIRST, SECOND = (
    SimpleNamespace(name=name, slice=slice(k, k + 1), size=1) for k, name in enumerate(("first", "second"))
)


def board(*rows: str) -> dict[str, Any]:
    """The lowest rows of a board for connect four: x the first player's stones, o the second's."""
    cells = torch.zeros(1, 6, 7, dtype=torch.uint8)
    for row, text in zip(range(6 - len(rows), 6), rows, strict=True):
        cells[0, row] = torch.tensor([" xo".index(stone) for stone in text])
    return {"cells": cells}


@pytest.mark.parametrize(
    ("rows", "player", "column"),
    [
        (("       ",), FIRST, 3),  # nothing to win: the middle
        (("xxx o o",), FIRST, 3),
        (("     xo", "    xoo", "   xoox"), FIRST, 6),  # a line that rises
        (("x      ", "x      ", "x oo   "), SECOND, 0),  # blocks
        (("x      ", "x o    ", "x xooo "), SECOND, 6),  # wins rather than blocks
    ],
)
def test_a_player_who_looks_one_move_ahead(rows: tuple[str, ...], player: Any, column: int) -> None:
    logits = boards.one_move_ahead(board(*rows), player)[0, 0]
    assert int(logits.argmax()) == column


def test_diagonals_are_lines_and_edges_end_them() -> None:
    rising = board("   x   ", "  x    ", " x     ", "x      ")["cells"] == 1
    falling = board("x      ", " x     ", "  x    ", "   x   ")["cells"] == 1
    around = board("xx   xx")["cells"] == 1
    assert boards._has_line(rising).all() and boards._has_line(falling).all() and not boards._has_line(around).any()


def test_a_full_column_takes_no_stone() -> None:
    full = board(*["x      ", "o      "] * 3)["cells"].long()
    assert not boards._landed(full, 0).any() and boards._landed(full, 1)[0, 5, 1]


def test_particles_walk_along_the_longer_axis_and_rest_where_they_belong() -> None:
    place = torch.tensor([[1.0, 0.2], [0.0, -1.0], [0.0, 0.0]])
    still = torch.zeros(3, 2)
    assert particles.towards(still, still, place).tolist() == [2, 3, 0]
    fast = torch.tensor([[4.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    assert int(particles.towards(still, fast, place)[0]) == 1  # it would come to rest beyond: it brakes


def test_a_player_of_asterix_leaves_the_row_of_an_enemy() -> None:
    crossers = torch.full((1, 8, 3), -1, dtype=torch.int32)
    crossers[0, 4] = torch.tensor([4, 1, 0])  # the enemy is in the row of index 4, the screen's 5th, a step away
    crossers[0, 3] = torch.tensor([9, -1, 1])  # gold above
    arrays = {"player": torch.tensor([[5, 5]], dtype=torch.int32), "crossers": crossers}
    assert int(minatar.dodge_and_fetch(arrays, FIRST)[0, 0].argmax()) == 2  # type: ignore[arg-type]


@pytest.mark.cpu_backend
@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "policy", "rule"),
    [
        ("particles_spread", "agent", particles.share_out),
        ("particles_pursuit", "adversary", particles.chase),
        ("particles_push", "adversary", particles.to_the_goal),
        ("minatar_asterix", "agent", minatar.dodge_and_fetch),
        ("minatar_space_invaders", "agent", minatar.shoot_from_cover),
        ("minatar_seaquest", "agent", minatar.shoot_along_the_row),
    ],
)
def test_a_rule_earns_more_than_chance(name: str, policy: str, rule: cases.Rule) -> None:
    config = load_config(name)
    nobody = dict.fromkeys(config.policy)
    at_random = play(config, nobody, 64, seed=2).returns[policy]
    by_rule = play(config, {**nobody, policy: by(rule)}, 64, seed=2).returns[policy]
    standard_error = (at_random.var() / 64 + by_rule.var() / 64).sqrt()
    assert by_rule.mean() - at_random.mean() > 4 * standard_error


@pytest.mark.cpu_backend
@pytest.mark.heavy
def test_figures_are_printed_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(experiment, "EPISODES", 20)
    main(["particles_push", "connect_four", "--save", str(tmp_path / "kept.json")])
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert {name: len(rules) for name, rules in kept["results"].items()} == {"connect_four": 1, "particles_push": 2}
    assert 0.8 <= kept["results"]["connect_four"][0]["figures"]["first beats random"] <= 1.0
    assert "an adversary that" in capsys.readouterr().out


def test_a_name_without_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["chess"])
    assert "no rule for chess; there are tag_gridworld, " in capsys.readouterr().err


def test_every_case_is_of_a_packaged_config() -> None:
    assert all(load_config(case.name).name for case in CASES)
