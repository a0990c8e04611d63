"""PPO finds the best response to a hider with a habit, within a few seconds of CPU time."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpworld.config import load_config
from warpworld.runs import Run
from warpworld.trainers.collecting.players import Scripted
from warpworld.trainers.play import play_groups
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend


@pytest.mark.heavy
def test_ppo_earns_the_best_response_s_value(tmp_path: Path) -> None:
    trainer = Trainer(load_config("coins"))
    trainer.train(Run.create(trainer.config, tmp_path))
    hider = Scripted("biased", trainer.world.environment.scripts()["biased"])
    players = {"matcher": trainer.policies["matcher"], "hider": hider}
    returns = play_groups(trainer.config, players, 2000, seed=1)["matcher"]
    assert abs(float(returns.mean()) - 8.0) < 0.4  # 0.08 is one standard error; exploration costs some, too
