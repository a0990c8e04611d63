"""Which envs a policy's mean return while training is of, where opponents play in some."""

from __future__ import annotations

from typing import Any

import pytest

from warpworld.config import config_from_dict, whose_envs

TRAINER = {"num_envs": 256, "num_steps": 4, "total_env_steps": 1024}
SMALL = {"num_minibatches": 1}


def of_tag(**policies: Any) -> dict[str, str]:
    given = {name: {**SMALL, **entry} for name, entry in policies.items()}
    return whose_envs(config_from_dict({"name": "tag_gridworld", "trainer": TRAINER, "policy": given}))


def test_both_have_opponents() -> None:
    own = {"self_play": {"share": 0.25}}
    assert of_tag(tagger=own, runner=own) == dict.fromkeys(("tagger", "runner"), "192 of 256 envs, 64 with opponents")


def test_one_has_opponents() -> None:
    assert of_tag(tagger={}, runner={"self_play": {"share": 0.5}}) == {
        "tagger": "all 256 envs, 128 with opponents",
        "runner": "128 of 256 envs, none with opponents",
    }


def test_one_policy_plays_all() -> None:
    both = {"groups": ["tagger", "runner"], "self_play": {"share": 0.5, "groups": ["runner"]}}
    assert of_tag(all=both) == {"all": "all 256 envs, 128 with opponents"}


@pytest.mark.parametrize("entry", [{}, {"learning_rate": 0.1}])
def test_no_opponents(entry: dict[str, Any]) -> None:
    assert of_tag(tagger=entry, runner={}) == {}
