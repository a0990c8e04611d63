"""What DQN and its replay refuse before a run begins, each in a sentence that says where and why."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from warpworld.config import load_config
from warpworld.environment import get_environment, placed_groups
from warpworld.errors import ConfigError
from warpworld.trainers.building import build_policies

VARIED = "tests.trainers.replay.varied:Varied"
SMALL = {"replay_size": 400, "learning_starts": 64, "batch_size": 32}
BYTES, PIXELS, DICT = ({"seen": seen} for seen in ("bytes", "pixels", "mixed"))
Given = dict[str, Any]

CASES: list[tuple[Given, Given, str, str]] = [
    ({"learning_starts": 401}, {}, "learning_starts", "is 401, expected at most replay_size, 400"),
    ({"learning_starts": 31}, {}, "learning_starts", "is 31, expected at least batch_size, 32"),
    ({"batch_size": 0}, {}, "batch_size", "is 0, expected at least 1"),
    ({"replay_size": 10}, {}, "replay_size", "is 10, expected at least 128: 8 rows of num_envs 4 x 4 agents"),
    ({"n_step": 21}, {}, "replay_size", "is 400, expected at least 416: 26 rows of num_envs 4 x 4 agents"),
    ({"n_step": 0}, {}, "n_step", "is 0, expected at least 1"),
    (
        {"frame_stack": 19},
        BYTES,
        "replay_size",
        "is 400, expected at least 416: 26 rows of num_envs 4 x 4 agents",
    ),
    ({"replay_size": 2**31 - 1000}, {}, "replay_size", "is 2147482648, expected less than 2^31 transitions"),
    ({"priority_alpha": 1.5}, {}, "priority_alpha", "is 1.5, expected at most 1"),
    ({"priority_alpha": -0.5}, {}, "priority_alpha", "is -0.5, expected at least 0"),
    ({"tau": 0.1}, {}, "target_every", "is 500 and tau is 0.1, expected exactly one of them; set the other to null"),
    (
        {"target_every": None},
        {},
        "target_every",
        "is None and tau is None, expected exactly one of them; set the other to null",
    ),
    ({"reward_clip": -1}, {}, "reward_clip", "is -1, expected at least 0"),
    (
        {"frame_stack": 4},
        {},
        "frame_stack",
        "is 4, but group 'left' observes Box(-inf, inf, (3,), float32), expected a Box of shape (channels, pixels) or "
        "(channels, height, width); set it to 1",
    ),
    (
        {"frame_stack": 2},
        DICT,
        "frame_stack",
        "is 2, but group 'left' observes Dict('eye': Box(0, 255, (5,), uint8), 'place': Box(-inf, inf, (2,), float32))"
        ", expected a Box of shape (channels, pixels) or (channels, height, width); set it to 1",
    ),
    (
        {"model": {"normalise_observations": True}},
        BYTES,
        "model.normalise_observations",
        "is true, but group 'left' sees no floats: what it reads of Box(0, 255, (2, 4), uint8) is between 0 and 1 "
        "already; set it to false",
    ),
    (
        {"frame_stack": 2, "model": {"normalise_observations": True}},
        PIXELS,
        "model.normalise_observations",
        "is true, but frame_stack is 2, expected one of them only",
    ),
    (
        {},
        {"actions": "box"},
        "algorithm",
        "is dqn, but group 'left' acts in Box(-1.0, 2.0, (2,), float32), expected choices; ddpg and sac act in a Box",
    ),
    (
        {"num_minibatches": 4},
        {},
        "num_minibatches",
        "is not a known key of dqn: it is one of ppo, a2c, mappo, gumbel_zero, which learn on-policy",
    ),
    (
        {"model": {"recurrent": "gru"}},
        {},
        "model.recurrent",
        "is gru, but dqn learns from transitions, expected null; algorithm: r2d2 learns with a memory",
    ),
]


def written(folder: Path, entry: Given, env: Given) -> Path:
    """A config file."""
    groups = {"groups": ["left", "middle", "right"]}
    whole = {
        "name": VARIED,
        "env": env,
        "trainer": {"num_envs": 4, "num_steps": 4, "total_env_steps": 160},
        "policy": {"all": {"algorithm": "dqn", **groups, **SMALL, **entry}},
    }
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(whole, sort_keys=False))
    return path


@pytest.mark.parametrize(("entry", "env", "key", "message"), CASES, ids=lambda value: str(value)[:40])
def test_what_is_refused(entry: Given, env: Given, key: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, entry, env)
    with pytest.raises(ConfigError) as refused:
        load_config(path)
    where = f"{re.escape(str(path))}, line ([0-9]+): "
    found = re.fullmatch(where + re.escape(f"policy.all.{key} {message}"), str(refused.value))
    assert found is not None, str(refused.value)
    line = path.read_text().splitlines()[int(found[1]) - 1].strip()
    assert line.split(":")[0] in {key.split(".")[-1], *entry}  # the culprit's own line, or that of what it clashes with


@pytest.mark.parametrize("key", ["priority_beta", "exploration"])
@pytest.mark.parametrize("value", [1.5, -0.1, [[0, 0.5], [100, 2.0]]])
def test_shares_lie_between_0_and_1(key: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"policy.all.{key} is {value}, expected ")):
        load_config(written(tmp_path, {key: value}, {}))


def test_pictures_are_stacked(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, {"frame_stack": 3}, BYTES))
    environment = get_environment(VARIED)(**BYTES)
    import torch

    policies = build_policies(config, environment, torch.Generator().manual_seed(0))
    assert policies["all"] is not None and policies["all"].state_size == 2 * 8
    assert list(placed_groups(environment)) == ["left", "middle", "right"]
