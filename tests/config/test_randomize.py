"""Ranges in a config from which parameters per env are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpworld.cli.main import main
from warpworld.config import RunConfig, load_config
from warpworld.errors import ConfigError

Load = Callable[..., RunConfig]

TEXT = """\
name: tests.world.drift:Drift
env:
  lives: 5
  randomize:
    gravity: [8.0, 12]
trainer: {num_envs: 2, num_steps: 4, total_env_steps: 16}
policy: {agent: }
"""


def test_from_yaml_and_back(load: Load, tmp_path: Path) -> None:
    config = load(TEXT, "env.randomize.lives=[1, 3]")
    assert config.env["randomize"] == {"gravity": [8.0, 12], "lives": [1, 3]}
    (tmp_path / "saved.yaml").write_text(config.to_yaml())
    assert load_config(tmp_path / "saved.yaml") == config
    for nothing in ("  randomize:", "  randomize: {}", ""):
        without = load(TEXT.replace("  randomize:\n    gravity: [8.0, 12]", nothing))
        assert without.env == {"gravity": 9.8, "lives": 5, "windy": False, "scale": 0.5, "randomize": {}}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "env.randomize.gravity=[12, 8]",
            "env: Drift: randomize: gravity=[12, 8] is reversed, expected the lowest first",
        ),
        (
            "env.randomize.scale=[1, 2]",
            "env: Drift: randomize: 'scale' is not in per_env. Known: gravity, lives, windy",
        ),
        ("env.randomize=8", "env: Drift: randomize=8, expected a range for each of its names"),
        ("env.randomise={}", "env.randomise is not a known key. Did you mean 'randomize'?"),
        ("env.randomize.gravity=[-1, 2]", "env: gravity=-1: expected more than 0 and less than 100"),
    ],
)
def test_mistakes(load: Load, override: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(TEXT, override)
    assert str(caught.value) == f"command line, {override}: {message}"


def test_mistakes_name_the_line(load: Load) -> None:
    with pytest.raises(ConfigError, match=r"run\.yaml, line 5: env: Drift: randomize: gravity=\[13, 12\] is reversed"):
        load(TEXT.replace("8.0", "13"))


def test_environments_without_such_parameters_have_no_ranges(load: Load) -> None:
    with pytest.raises(ConfigError, match=r"env\.randomize is not a known key"):
        load_config("tag_gridworld", ["env.randomize={}"])


def lines(capsys: pytest.CaptureFixture[str], *words: Any) -> list[str]:
    assert main(["params", *map(str, words)]) == 0
    return capsys.readouterr().out.splitlines()


def test_params_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.yaml").write_text(TEXT)
    about = "# lowest and highest of what is drawn at each reset, of gravity, lives, windy"
    shown = lines(capsys, tmp_path / "run.yaml")
    assert "  gravity: 9.8                          # downwards, m/s^2; per env" in shown
    assert "  lives: 5                              # per env; default 3" in shown
    assert f"  randomize: {{gravity: [8.0, 12]}}       {about}; default {{}}" in shown
    assert f"  randomize: {{}}                         {about}" in lines(capsys, "tests.world.drift:Drift")
    (tmp_path / "all.yaml").write_text("\n".join(shown))
    assert load_config(tmp_path / "all.yaml") == load_config(tmp_path / "run.yaml")
