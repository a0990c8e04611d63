"""What is learnt against opponents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from warpworld.cli.main import main
from warpworld.config import config_from_dict
from warpworld.errors import RunError
from warpworld.runs import Run
from warpworld.trainers.league.cross_play import CrossPlay, cross_play
from warpworld.trainers.trainer import Trainer

pytestmark = [pytest.mark.slow, pytest.mark.cpu_backend]


def trained(name: str, directory: Path, iterations: int, seed: int, **self_play: Any) -> tuple[Trainer, Run]:
    """A run in which the policy learns from nothing but games against opponents."""
    fighter = {"groups": ["player", "rival"], "learning_rate": 3e-3, "model": {"hidden_sizes": [16]}}
    fighter["self_play"] = {"groups": ["rival"], "share": 1.0, **self_play}
    trainer = {"num_envs": 64, "num_steps": 8, "total_env_steps": 64 * 8 * iterations, "device": "cpu", "seed": seed}
    saving = {"checkpoint_every": iterations // 4}
    config = config_from_dict({"name": name, "trainer": trainer, "policy": {"fighter": fighter}, "saving": saving})
    found = Trainer(config)
    run = found.create_run(directory)
    assert run is not None
    found.train(run)
    run.close()
    return found, run


@pytest.mark.parametrize("seed", [1, 2])
def test_paper_is_learnt_against_rock(tmp_path: Path, seed: int) -> None:
    trainer, _ = trained(
        "tests.trainers.league.duels:Throws", tmp_path, 40, seed, slots=2, pool_size=0, opponents=["rock"]
    )
    policy = trainer.policies["fighter"]
    assert policy is not None
    with torch.no_grad():
        assert policy.outputs(torch.tensor([0.0, 1.0], device=trainer.world.device)).softmax(-1)[1] > 0.95
    state = trainer.league.matchmakers["fighter"].state
    assert state.opponents["rock"].win_rate > 0.9
    assert state.rating - state.opponents["rock"].rating > 200
    assert state.rating + state.opponents["rock"].rating == pytest.approx(2000)


# --- against its past alone -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that met its past selves and nobody else, not even its present self."""
    folder = tmp_path_factory.mktemp("echo")
    return trained(
        "tests.trainers.league.duels:Echo", folder, 40, 1, slots=4, pool_size=6, snapshot_every=4, match_every=2
    )[1]


@pytest.fixture(scope="module")
def table(echo: Run) -> CrossPlay:
    return cross_play(echo, episodes=200, members=5)


def test_the_last_self_beats_all_that_came_before(table: CrossPlay) -> None:
    assert table.same
    assert table.rows[:5] == ["0", "10", "20", "30", "40"]
    assert table.rows[-1] == "random"
    last, first, at_random = (table.rows.index(name) for name in ("40", "0", "random"))
    assert table.win_rates[last, first] > 0.9
    assert table.win_rates[last, at_random] > 0.9
    assert table.row_ratings[last] - table.row_ratings[at_random] > 200
    assert abs(table.row_ratings[first] - table.row_ratings[at_random]) < 100
    ratings = [table.row_ratings[table.rows.index(name)] for name in ("0", "10", "20")]
    assert ratings == sorted(ratings)


def test_the_table_is_the_same_from_both_sides(table: CrossPlay) -> None:
    away = ~np.eye(len(table.rows), dtype=bool)
    assert np.isnan(np.diag(table.win_rates)).all()
    assert table.win_rates[away] + table.win_rates.T[away] == pytest.approx(1.0)
    assert table.episodes == 200
    assert table.row_ratings is table.column_ratings
    assert table.row_ratings.mean() == pytest.approx(1000)


def test_the_pool_is_in_the_table(table: CrossPlay, echo: Run) -> None:
    pool = [name for name in table.rows if name.startswith("pool ")]
    opponents = echo.load_checkpoint()["league"]["fighter"]["opponents"]
    past = {f"pool {o['iteration']}" for o in opponents if o["iteration"] not in (0, 10, 20, 30, 40)}
    assert pool and set(pool) <= past


def test_the_same_seed_gives_the_same_table(echo: Run) -> None:
    one, same, other = (cross_play(echo, episodes=10, members=2, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(one.win_rates, same.win_rates, equal_nan=True)
    assert not np.array_equal(one.win_rates, other.win_rates, equal_nan=True)


def test_the_command(echo: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["league", str(echo.path), "--episodes", "20", "--members", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("fighter: how often rows beat columns, 20 episodes each")
    names = [line.split("  ")[0] for line in lines[2:-1]]
    assert set(names) >= {"0", "20", "40", "random"}
    ratings = [float(line.removeprefix(name).split()[0]) for name, line in zip(names, lines[2:-1], strict=True)]
    assert ratings == sorted(ratings, reverse=True)
    assert lines[1].split()[0] == "Elo" and lines[2].split().count("-") == 1
    assert lines[-1] == str(echo.path / "league.png")
    assert (echo.path / "league.png").read_bytes().startswith(b"\x89PNG")


# --- other runs -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tag(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two iterations of a Tag without any self-play."""
    trainer = {"num_envs": 4, "num_steps": 8, "total_env_steps": 64, "device": "cpu"}
    env = {"num_taggers": 2, "grid_length": 4, "episode_length": 8}
    data = {"name": "tag_gridworld", "env": env, "trainer": trainer, "policy": {"tagger": {}, "runner": {}}}
    found = Trainer(config_from_dict(data))
    run = found.create_run(tmp_path_factory.mktemp("tag"))
    assert run is not None
    found.train(run)
    run.close()
    return run


def test_two_policies_are_rows_and_columns(tag: Run, capsys: pytest.CaptureFixture[str]) -> None:
    found = cross_play(tag, episodes=64, policy="runner")
    assert (found.policy, found.same) == ("runner", False)
    assert found.rows == found.columns == ["0", "2", "greedy", "random"]
    assert not np.isnan(found.win_rates).any()
    columns = {name: found.win_rates[:, j].mean() for j, name in enumerate(found.columns)}
    assert columns["greedy"] == min(columns.values())  # taggers that chase leave runners the least
    assert found.column_ratings[2] == found.column_ratings.max()
    assert np.concatenate([found.row_ratings, found.column_ratings]).mean() == pytest.approx(1000)
    assert main(["league", str(tag.path), "--episodes", "4", "--members", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("tagger: how often rows beat columns") and "the columns: runner" in out


def test_a_league_of_chosen_selves_in_another_environment(tag: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """Taggers that chase catch runners who move at random, but seldom in one step."""

    def of_greedy(*words: str) -> tuple[list[str], float]:
        assert main(["league", str(tag.path), *words, "--episodes", "64"]) == 0
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        return lines[1], float(next(line[-1] for line in lines if line[:1] == ["greedy"]))

    head, rate = of_greedy("--checkpoint", "2")
    assert head == ["Elo", "2", "greedy", "random"]
    assert rate > 0.8
    assert of_greedy("env.episode_length=1", "--checkpoint", "2")[1] < 0.5
    assert main(["league", str(tag.path), "--checkpoint", "1"]) == 2
    assert "has no checkpoint of iteration 1, the nearest is 0" in capsys.readouterr().err
    assert main(["league", str(tag.path), "trainer.seed=3"]) == 2
    assert "trainer.seed=3: expected a parameter of the environment" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("runner", "columns"),
    [({"algorithm": "random"}, ["greedy", "random"]), ({"train": False}, ["2", "greedy", "random"])],
)
def test_who_does_not_learn_is_in_the_table_once(tmp_path: Path, runner: dict[str, Any], columns: list[str]) -> None:
    trainer = {"num_envs": 4, "num_steps": 8, "total_env_steps": 64, "device": "cpu"}
    env = {"num_taggers": 1, "grid_length": 3, "episode_length": 4}
    data = {"name": "tag_gridworld", "env": env, "trainer": trainer, "policy": {"tagger": {}, "runner": runner}}
    found = Trainer(config_from_dict(data))
    run = found.create_run(tmp_path)
    assert run is not None
    found.train(run)
    run.close()
    table = cross_play(run, episodes=8)
    assert (table.rows, table.columns) == (["0", "2", "greedy", "random"], columns)


def test_a_run_that_has_no_league(tag: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RunError, match=r"no policy 'taggger' that is trained. Did you mean 'tagger'\? It has"):
        cross_play(tag, policy="taggger")
    data = {"name": "cartpole", "trainer": {"num_envs": 4, "num_steps": 4, "total_env_steps": 16}}
    alone = Run.create(config_from_dict({**data, "policy": {"agent": {}}}), tmp_path)
    with pytest.raises(RunError, match=r"plays the only group, 'agent', so it has no other player to meet"):
        cross_play(alone)
    nobody = Run.create(config_from_dict({**data, "policy": {"agent": {"algorithm": "random"}}}), tmp_path)
    with pytest.raises(RunError, match=r"no policy that is trained, so that there are no selves"):
        cross_play(nobody)
    empty = Run.create(tag.config, tmp_path)
    empty.close()
    assert main(["league", str(empty.path)]) == 2
    assert "has no checkpoint; its training ended before the first was written" in capsys.readouterr().err


def test_a_pool_that_was_changed_is_refused(echo: Run, tmp_path: Path) -> None:
    named = str(echo.load_checkpoint()["league"])
    path = next(path for path in echo.opponents_folder.glob("*.pt") if path.name in named)
    data = path.read_bytes()
    try:
        path.write_bytes(data[:-1])
        with pytest.raises(RunError, match=rf"{path.name}' has SHA-256 .*, expected"):
            cross_play(echo)
    finally:
        path.write_bytes(data)
