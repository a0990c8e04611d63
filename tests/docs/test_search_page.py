"""docs/search.md: its table has every key of gumbel_zero with its default, and its config is the packaged one."""

from __future__ import annotations

import pytest

from tests.docs.pages import DOCS, blocks, page
from tests.docs.test_off_policy_page import COMMON, defaults
from warpworld.config import load_config
from warpworld.config.reward_settings import RewardSettings
from warpworld.trainers.algorithms import get_algorithm
from warpworld.trainers.trainer import Trainer


def test_every_key_is_there_with_its_default() -> None:
    settings = get_algorithm("gumbel_zero").Settings()  # type: ignore[call-arg]
    own = {name: value for name, value in settings if name not in {*COMMON, *RewardSettings.model_fields, "algorithm"}}
    assert defaults(page("search")) == pytest.approx(own)


def test_the_config_is_the_packaged_one_and_trains() -> None:
    (shown,) = blocks(page("search"), "yaml")
    path = DOCS.parent / "configs" / "tic_tac_toe_zero.yaml"
    packaged = path.read_text()
    assert shown.strip() == packaged[packaged.index("name:") :].strip()
    small = ["trainer.num_envs=8", "trainer.total_env_steps=128", "policy.player.num_simulations=4"]
    Trainer(load_config(str(path), [*small, "saving.loggers=[]"])).train(None)
