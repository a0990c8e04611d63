"""docs/environments.md lists every environment that comes with warpworld, and what it says of them holds."""

from __future__ import annotations

import re

from gymnasium.spaces import MultiBinary

from tests.docs.pages import page
from warpworld.config import packaged_configs
from warpworld.environment import get_environment, packaged_names


def test_every_environment_is_listed_once() -> None:
    overview = page("environments").partition("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", overview, re.MULTILINE)
    assert sorted(listed) == packaged_names()
    assert set(listed) <= set(packaged_configs())


def test_limits_and_screens_are_those_of_the_page() -> None:
    text = " ".join(page("environments").split())
    games = {name: get_environment(name)() for name in packaged_names() if name.startswith("minatar_")}
    limits = {name: game.params.episode_length for name, game in games.items()}
    assert f"Freeway's is MinAtar's: {limits.pop('minatar_freeway'):,} steps" in text
    (limit,) = set(limits.values())
    assert f"here `episode_length` is {limit:,}" in text
    for environment in games.values():
        (group,) = environment.groups()
        assert isinstance(group.observation, MultiBinary) and group.observation.shape is not None
        sees = " x ".join(map(str, group.observation.shape))
        assert f"| `{environment.name}` | 1 | {sees} flags | {group.action.n} choices |" in text  # type: ignore[attr-defined]
    assert f"truncated after the same {get_environment('pendulum')().params.episode_length} steps" in text
