"""docs/populations.md: its config is right, its table has every key, and it names all settings that may change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.pages import files, page
from warpworld.config import PopulationConfig, load_config
from warpworld.config.population_settings import settings_that_change
from warpworld.trainers.algorithms import ALGORITHMS, get_algorithm

pytestmark = pytest.mark.cpu_backend


def test_the_config_is_right(tmp_path: Path) -> None:
    ((name, text),) = files(page("populations"))
    (tmp_path / name).write_text(text)
    config = load_config(tmp_path / name)
    entry: Any = config.policy["agent"]
    shares = re.search(r"here (\d+) of (\d+)", page("populations"))
    assert shares is not None
    per_member, envs = map(int, shares.groups())
    assert config.trainer.num_envs == envs == per_member * entry.population.members


def test_every_key_is_there_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", page("populations"), re.MULTILINE))
    assert rows.keys() == PopulationConfig.model_fields.keys()
    for name, field in PopulationConfig.model_fields.items():
        default = "required" if field.is_required() else field.get_default()
        shown = yaml.safe_load(rows[name].strip("`"))
        assert shown == (list(default) if isinstance(default, tuple) else default), name


def test_settings_that_may_change_are_those_of_the_page() -> None:
    text = page("populations").partition("**Settings that may change**")[2].partition("\n\n")[0].partition(": ")[2]
    named = set(re.findall(r"`(\w+)`", text.partition("`anneal_lr`")[0]))
    able = [name for name in ALGORITHMS if get_algorithm(name).learns_from_share]
    assert named == {name for algorithm in able for name in settings_that_change(get_algorithm(algorithm).Settings)}
