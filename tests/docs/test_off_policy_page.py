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
DDPG_KEYS = 18  # lines of ddpg's table, before sac's


def tables(head: str) -> list[list[str]]:
    """The cells of the lines of all tables with such a head, between the keys and what they mean."""
    found = re.findall(rf"^\| key \| {head}.*\n\|[-| ]+\n((?:\|.*\n)+)", page("off-policy"), re.MULTILINE)
    lines = "".join(found).splitlines()
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-2]] for line in lines]


def defaults(head: str, column: int) -> dict[str, Any]:
    """The defaults that tables show."""
    found = {}
    for keys, *cells in tables(head):
        for name, given in zip(re.findall(r"`([a-z_0-9]+)`", keys), cells[column].split(", "), strict=True):
            found[name] = yaml.safe_load(given.replace(",", ""))
    return found


def as_shown(value: Any, shown: Any) -> Any:
    return float(shown) if isinstance(value, float) else shown


@pytest.mark.parametrize(
    ("algorithm", "head", "column"), [("dqn", "`dqn`", 0), ("ape_x", "`dqn`", 1), ("ddpg", "default", 0)]
)
def test_every_key_is_there_with_its_default(algorithm: str, head: str, column: int) -> None:
    found = defaults(head, column)
    if algorithm == "ddpg":  # what all share stands above; the second table of defaults is sac's
        found = {
            **defaults("`dqn`", 0),
            "td3": False,
            **{row[0].strip("`"): yaml.safe_load(row[1].replace(",", "")) for row in tables("default")[:DDPG_KEYS]},
        }
    own = {name: value for name, value in get_algorithm(algorithm).Settings() if name not in COMMON}  # type: ignore[call-arg]
    assert own.keys() <= found.keys()
    for name, value in own.items():
        assert as_shown(value, found[name]) == value, name


def test_what_differs_under_sac_is_there() -> None:
    rows = tables("default")
    ddpg, sac = (
        {row[0].strip("`"): yaml.safe_load(row[1].replace(",", "")) for row in part}
        for part in (rows[:DDPG_KEYS], rows[DDPG_KEYS:])
    )
    for name, value in get_algorithm("sac").Settings():  # type: ignore[call-arg]
        if name not in COMMON:
            shown = {**defaults("`dqn`", 0), **ddpg, **sac}[name]
            assert as_shown(value, shown) == value, name


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
