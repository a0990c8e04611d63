"""A sweep's file: what it is read as, and every mistake before anything is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpworld.cli.sweep.sweep_file import SweepFile
from warpworld.errors import ConfigError

pytestmark = pytest.mark.cpu_backend

RATES = "search:\n  learning_rate: {log_range: [1.0e-4, 1.0e-2]}\n"


def sweep_of(folder: Path, text: str) -> SweepFile:
    (folder / "rates.yaml").write_text(text)
    return SweepFile(folder / "rates.yaml")


@pytest.mark.long
def test_a_sweep(tmp_path: Path) -> None:
    file = sweep_of(
        tmp_path, f"config: cartpole\noverrides: [gamma=0.9]\n{RATES}  hidden_sizes: {{values: [[8], [9]]}}"
    )
    assert (file.name, file.objective) == ("rates", "charts/agent/episodic_return")
    assert file.words({"learning_rate": "0.001", "hidden_sizes": "[8]"}, 3) == [
        *("cartpole", "gamma=0.9", "learning_rate=0.001", "hidden_sizes=[8]", "saving.name=rates-trial-3")
    ]
    assert file.sweep.search["hidden_sizes"].probes() == ["[8]", "[9]"]
    assert file.sweep.search["learning_rate"].probes() == ["0.0001", "0.01"]


def test_a_config_lies_beside_the_sweep(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "name: cartpole\ntrainer: {num_envs: 4, num_steps: 8, total_env_steps: 64}\npolicy: {agent: {}}\n"
    )
    assert sweep_of(tmp_path, f"config: mine.yaml\n{RATES}").base.trainer.num_envs == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "config: cartpole\nserach: {}\n",
            "{file}, line 2: serach is not a known key. Did you mean 'search'?",
        ),
        (
            "config: cartpole\nsearch:\n  learning_rat: {range: [0, 1]}\n",
            "{file}, line 3: search.learning_rat: learning_rat is not a known key. "
            "Did you mean 'policy.agent.learning_rate'?",
        ),
        (
            "config: cartpole\nsearch:\n  policy.agent.gama: {range: [0, 1]}\n",
            "{file}, line 3: search.policy.agent.gama: policy.agent.gama is not a known key. Did you mean 'gamma'?",
        ),
        (
            "config: cartpole\nsearch:\n  num_envs: {values: [64, 0]}\n",
            "{file}, line 3: search.num_envs: trainer.num_envs is 0, expected at least 1",
        ),
        (
            "config: cartpole\nsearch:\n  gamma: {range: [0.9, 1.5]}\n",
            "{file}, line 3: search.gamma: policy.agent.gamma is 1.5, expected at most 1",
        ),
        (
            "config: cartpole\nsearch:\n  gamma: {range: [0.9, 0.1]}\n",
            "{file}, line 3: search.gamma.range is [0.9, 0.1], expected the lower end first",
        ),
        (
            "config: cartpole\nsearch:\n  gamma: {log_range: [0, 0.5]}\n",
            "{file}, line 3: search.gamma.log_range is [0.0, 0.5], expected ends above 0",
        ),
        (
            "config: cartpole\nsearch:\n  gamma: {range: [0, 1], values: [0.5]}\n",
            "{file}, line 3: search.gamma gives values and range, expected one of values, range, log_range and int",
        ),
        (
            "config: cartpole\nsearch:\n  num_envs: {int: [1, 2.5]}\n",
            "{file}, line 3: search.num_envs.int[1] is 2.5, expected a whole number",
        ),
        (
            f"config: cartpole\n{RATES}sampler: tpa\n",
            "{file}, line 4: sampler is 'tpa', expected 'tpe', 'random', 'nsgaii', 'brute_force', 'gp', 'cmaes' or "
            "'qmc'",
        ),
        (
            "config: tag_gridworld\nsearch:\n  policy.*.gamma: {range: [0.9, 1]}\n",
            "{file}: objective is missing, since 2 policies learn; expected a metric such as "
            "charts/tagger/episodic_return",
        ),
    ],
)
def test_mistakes(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        sweep_of(tmp_path, text)
    assert str(caught.value) == expected.format(file=tmp_path / "rates.yaml")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        SweepFile(tmp_path / "none.yaml")
    assert str(caught.value) == (
        f"sweep '{tmp_path / 'none.yaml'}' cannot be read: No such file or directory; expected a YAML file"
    )
