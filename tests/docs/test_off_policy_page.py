"""docs/off-policy.md: its configs train, its tables have every key with its default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import blocks, page
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.config.sections import LearnerConfig
from warpworld.trainers.algorithms import ALGORITHMS, get_algorithm
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

COMMON = set(LearnerConfig.model_fields)  # docs/learning.md has these
TABLES = {"dqn": 1, "ape_x": 2}  # the column of an algorithm's defaults


def rows() -> list[list[str]]:
    """The cells of the lines of all tables of keys and defaults."""
    tables = re.findall(r"^\| key \| `dqn`.*\n\|[-| ]+\n((?:\|.*\n)+)", page("off-policy"), re.MULTILINE)
    lines = "".join(tables).splitlines()
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


@pytest.mark.parametrize("algorithm", TABLES)
def test_every_key_is_there_with_its_default(algorithm: str) -> None:
    settings = get_algorithm(algorithm).Settings()  # type: ignore[call-arg]
    found = {}
    for keys, *cells in rows():
        names = re.findall(r"`([a-z_]+)`", keys)
        for name, given in zip(names, re.split(", ", cells[TABLES[algorithm] - 1]), strict=True):
            found[name] = yaml.safe_load(given.replace(",", ""))
    own = {name: value for name, value in settings if name not in COMMON}
    assert own.keys() <= found.keys()
    for name, value in own.items():
        assert (float(found[name]) if isinstance(value, float) else found[name]) == value, name


def test_every_off_policy_algorithm_is_there() -> None:
    text = page("off-policy")
    for name in ALGORITHMS:
        assert f"| `{name}`" in text or f", `{name}` |" in text, name


def configs(folder: Path) -> list[RunConfig]:
    """The configs that the page shows."""
    found = []
    for number, block in enumerate(blocks(page("off-policy"), "yaml")):
        (folder / f"{number}.yaml").write_text(block)
        found.append(load_config(folder / f"{number}.yaml"))
    return found


def test_the_first_run_is_the_packaged_config(tmp_path: Path) -> None:
    shown, packaged = configs(tmp_path)[0], load_config("cartpole_dqn")
    assert shown.model_copy(update={"saving": packaged.saving}) == packaged


@pytest.mark.long
def test_the_mixed_config_trains(tmp_path: Path) -> None:
    mixed = configs(tmp_path)[1].to_dict()
    mixed["trainer"]["total_env_steps"] = 64 * 8 * 4
    assert Trainer(config_from_dict(mixed)).train(None)["losses/tagger/loss"] > 0
