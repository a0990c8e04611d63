"""The command `params`: every key, as a config that trains the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chase import TEXT
from warpworld.cli.main import main
from warpworld.config import load_config, packaged_configs


@pytest.mark.parametrize("name", packaged_configs())
def test_what_is_printed_trains_the_same(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["params", name]) == 0
    (tmp_path / "all.yaml").write_text(capsys.readouterr().out)
    assert load_config(tmp_path / "all.yaml") == load_config(name)


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["params", "tag_gridworld", "trainer.seed=7", "env.start=fixed"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "name: tag_gridworld                     # which environment; required",
        "",
        "env:                                    # the environment's parameters",
        "  num_taggers: 4                        # taggers; there is always one runner; 1 to 11999; default 10",
    ]
    start = "  start: fixed                          # or fixed: taggers in the middle, the runner in a corner"
    assert f"{start}; 'random' or 'fixed'; default random" in lines
    assert "  seed: 7                               # same seed, same run; default 1" in lines
    assert "  num_envs: 400                         # envs that step together; required" in lines
    assert "    update_epochs: 4                    # passes over a rollout" in lines
    assert sum(line.startswith("schedules: {}                           # world arrays") for line in lines) == 1


def test_long_values_keep_their_distance_from_the_comment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["params", "deathmatch"]) == 0
    assert (
        "  near_spawn: [[0, 1.0], [1500000, 0.0]]  # share of episodes whose agents spawn in one room; default 0.0\n"
    ) in capsys.readouterr().out


def test_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.yaml").write_text(TEXT)
    assert main(["params", str(tmp_path / "run.yaml")]) == 0
    assert "name: tests.chase:Chase" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["tests.report.recorded_worlds:Plain", "{root}/tests/report/recorded_worlds.py:Plain"])
def test_an_environment(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(__file__).parent.parent.parent
    assert main(["params", name.format(root=root), "env.length=4"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "env:                                    # the parameters of Plain",
        "  length: 4                             # default 3",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cartpol"], "no file 'cartpol', and no packaged config of that name. Did you mean 'cartpole'? All: warp"),
        (["cartpole", "trainer.sead=1"], "trainer.sead is not a known key. Did you mean 'seed'?"),
        (["nowhere.py"], "no file 'nowhere.py'; expected a Python file that defines an Environment"),
        (["tests.report.recorded_worlds:Plain", "env.lenth=4"], "env.lenth is not a known key. Did you mean 'length'?"),
        (["tests.report.recorded_worlds:Plain", "length"], "override 'length': expected key=value"),
    ],
)
def test_mistakes(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["params", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
