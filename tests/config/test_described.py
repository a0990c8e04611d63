"""Every key of a config is described, and the configs that come along say what is theirs and no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.chase import TEXT, changed
from warpworld.cli.new.template import CPP_TEMPLATE, MODULE, TEMPLATE
from warpworld.config import RunConfig, load_config, packaged_configs
from warpworld.config.described import NO_DEFAULT, Key, argument_docs, described, field_comments
from warpworld.config.documents.document import Document

OURS = (*packaged_configs(), *(str(template / f"{MODULE}.yaml") for template in (TEMPLATE, CPP_TEMPLATE)))


def keys_of(config: RunConfig) -> dict[tuple[str | int, ...], Key]:
    keys = list(described(config))
    assert len({key.path for key in keys}) == len(keys)
    return {key.path: key for key in keys}


@pytest.mark.parametrize("name", OURS)
def test_configs_that_come_along_say_what_differs_from_the_defaults(name: str) -> None:
    """And how large the run is, which has no default."""
    raw = packaged_configs().get(name, Path(name)).read_bytes()
    document, keys = Document.parse(raw, name), keys_of(load_config(name))
    given = {path for path in document.lines if path in keys and not keys[path].is_section}
    assert given == {path for path, key in keys.items() if not key.is_section and not key.is_default}


@pytest.mark.parametrize("name", OURS)
def test_every_key_is_described(name: str) -> None:
    keys = keys_of(load_config(name))
    assert [path for path, key in keys.items() if not key.about] == [path for path in keys if _is_policy(path)]


def _is_policy(path: tuple[str | int, ...]) -> bool:
    return len(path) == 2 and path[0] == "policy"


@pytest.mark.parametrize("name", OURS)
def test_keys_hold_the_whole_config(name: str) -> None:
    config = load_config(name)
    found: dict[str, Any] = {}
    for key in described(config):
        section = found
        for part in key.path[:-1]:
            section = section[part]  # type: ignore[index]
        section[key.path[-1]] = {} if key.is_section else key.value  # type: ignore[index]
    assert found == config.to_dict()


def test_values_defaults_and_words(load: Callable[..., RunConfig]) -> None:
    keys = keys_of(load(changed("gamma: 1", "groups: [evader]\n    algorithm: a2c\n    model: {hidden_sizes: [8]}")))
    found = {path: (key.value, key.default) for path, key in keys.items()}
    assert found[("name",)][1] is NO_DEFAULT
    assert found[("trainer", "num_envs")] == (8, NO_DEFAULT)
    assert found[("trainer", "seed")] == (1, 1)
    assert found[("env", "chasers")] == (3, NO_DEFAULT)
    assert found[("env", "side")] == (10.0, 10.0)
    assert found[("policy", "chaser", "learning_rate")] == (1e-3, 2.5e-4)
    assert found[("policy", "evader", "groups")] == (("evader",), ("evader",))
    assert found[("policy", "evader", "algorithm")] == ("a2c", "ppo")
    assert found[("policy", "evader", "gae_lambda")] == (1.0, 1.0)  # A2C's own
    assert found[("policy", "evader", "model", "hidden_sizes")] == ((8,), (64, 64))
    assert keys[("trainer", "num_envs")].about == "envs that step together"
    assert keys[("policy", "evader", "model", "activation")].about == 'between the layers: "tanh" or "relu"'
    assert [path for path, key in keys.items() if key.is_section] == [
        ("env",), ("trainer",), ("policy",), ("policy", "chaser"), ("policy", "chaser", "model"),
        ("policy", "evader"), ("policy", "evader", "model"), ("saving",),
    ]  # fmt: skip
    assert found[("schedules",)] == ({}, {})


def test_a_schedule_has_the_words_of_its_array() -> None:
    key = keys_of(load_config("deathmatch"))[("schedules", "near_spawn")]
    assert (key.value, key.default) == (((0, 1.0), (1_500_000, 0.0)), 0.0)
    assert key.about == "share of episodes whose agents spawn in one room"


def test_a_random_policy_has_few_keys(load: Callable[..., RunConfig]) -> None:
    keys = keys_of(load(changed("gamma: 1", "algorithm: random")))
    assert [path[2] for path in keys if path[:2] == ("policy", "evader") and len(path) == 3] == ["groups", "algorithm"]


# --- where the words come from


@dataclass
class Base:
    """Two fields."""

    width: int = 1  # of the road
    height: int = 2


@dataclass
class Derived(Base):
    """One more, one changed."""

    width: int = 3
    depth: tuple[int, ...] = (
        1,  # first
        2,
    )  # then the others
    note: str = "# no comment"


def test_comments_behind_fields() -> None:
    assert field_comments(Derived) == {"width": "of the road", "depth": "first then the others"}


def test_comments_of_a_class_without_source() -> None:
    made = dataclass(type("Made", (), {"__annotations__": {"x": int}}))
    assert field_comments(made) == {}


def test_arguments_of_a_docstring() -> None:
    def function() -> None:
        """Do it.

        Args:
            one: the first.
            two: the second, which
                needs two lines: so.

        Raises:
            three: no argument.
        """

    assert argument_docs(function) == {"one": "the first", "two": "the second, which needs two lines: so"}
    assert argument_docs(lambda: None) == {}


def test_a_config_as_it_was_before_stays_right(load: Callable[..., RunConfig]) -> None:
    """One that gives every key, as each run's own does."""
    assert load(load(TEXT).to_yaml()) == load(TEXT)
