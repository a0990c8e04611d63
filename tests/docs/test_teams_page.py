"""docs/teams.md: its tables have the defaults of MAPPO, VDN and QMIX."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.docs.pages import page
from tests.docs.test_off_policy_page import defaults
from warpworld.trainers.algorithms import get_algorithm

OF_QMIX = {"mixing_size", "hypernetwork_size"}
AS_SHOWN_OF_DQN = {"frame_stack"}  # keys of dqn that teams have not


@pytest.mark.parametrize("algorithm", ["vdn", "qmix"])
def test_every_key_is_there_with_its_default(algorithm: str) -> None:
    own, of_dqn = defaults(page("teams").split("\n## VDN and QMIX\n")[1]), get_algorithm("dqn").Settings()  # type: ignore[call-arg]
    settings = get_algorithm(algorithm).Settings()  # type: ignore[call-arg]
    known = {name for name, _ in settings}
    assert {name for name, _ in of_dqn} - known == AS_SHOWN_OF_DQN
    assert set(own) - known == (OF_QMIX if algorithm == "vdn" else set())
    for name, value in settings:
        if name != "algorithm":
            shown = own[name] if name in own else getattr(of_dqn, name)
            assert value == (float(shown) if isinstance(value, float) else shown), name


def test_every_key_of_mappo_that_ppo_has_not_is_there_with_its_default() -> None:
    text = page("teams").split("\n## VDN and QMIX\n")[0].split("\n| key |")[1]
    cells = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE)
    shown = {name: yaml.safe_load(given) for name, given in cells}
    own, of_ppo = (dict(get_algorithm(name).Settings()) for name in ("mappo", "ppo"))  # type: ignore[call-arg]
    new = {name: value for name, value in own.items() if name not in of_ppo or value != of_ppo[name]}
    del new["algorithm"]
    assert shown == {name: list(value) if isinstance(value, tuple) else value for name, value in new.items()}
