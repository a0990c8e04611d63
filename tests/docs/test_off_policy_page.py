"""docs/off-policy.md: its configs train, its tables have every key with its default."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.pages import blocks, page
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.config.sections import LearnerConfig
from warpworld.trainers.algorithms import ALGORITHMS, get_algorithm
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

COMMON = set(LearnerConfig.model_fields)  # docs/learning.md has these


def defaults(text: str, column: int = 0) -> dict[str, Any]:
    """The keys of a text's tables with the defaults in one of the columns between keys and meanings."""
    found = {}
    for table in re.findall(r"^\| key \|.*\n\|[-| ]+\n((?:\|.*\n)+)", text, re.MULTILINE):
        for line in table.splitlines():
            keys, *cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-2]]
            numbers = re.sub(r"(?<=\d),(?=\d)", "", cells[column]).split(", ")
            for name, given in zip(re.findall(r"`([a-z_0-9]+)`", keys), numbers, strict=True):
                found[name] = yaml.safe_load(given)
    return found


def shown(algorithm: str) -> dict[str, Any]:
    """The defaults of an algorithm: those that all share, and over them those of its own section."""
    shared, *sections = re.split(r"^(?=## (?:R2D2|DDPG|SAC|Several agents))", page("off-policy"), flags=re.MULTILINE)
    r2d2, ddpg, sac, _ = map(defaults, sections)
    own = {"r2d2": [r2d2], "ddpg": [ddpg], "sac": [ddpg, sac]}.get(algorithm, [])
    found = defaults(shared, 1 if algorithm == "ape_x" else 0)
    for section in own:
        found |= section
    return found


@pytest.mark.parametrize("algorithm", ["dqn", "ape_x", "r2d2", "ddpg", "sac"])
def test_every_key_is_there_with_its_default(algorithm: str) -> None:
    found = shown(algorithm)
    for name, value in get_algorithm(algorithm).Settings():  # type: ignore[call-arg]
        if name not in COMMON:
            assert name in found
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


def test_the_configs_are_packaged_ones(tmp_path: Path) -> None:
    first, of_sac, _ = configs(tmp_path)
    packaged = load_config("cartpole_dqn")
    assert first.model_copy(update={"saving": packaged.saving}) == packaged
    assert of_sac == load_config("pendulum_sac")


@pytest.mark.long
def test_the_mixed_config_trains(tmp_path: Path) -> None:
    mixed = configs(tmp_path)[-1].to_dict()
    mixed["trainer"]["total_env_steps"] = 64 * 8 * 4
    assert Trainer(config_from_dict(mixed)).train(None)["losses/tagger/loss"] > 0
