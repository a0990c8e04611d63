"""Runs whose envs cannot be resumed begin new episodes: no transition leads from an old one into a new one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainers.small_worlds import Clockwork
from warpworld.config import config_from_dict
from warpworld.runs import Run
from warpworld.trainers.replay import TransitionReplay
from warpworld.trainers.trainer import Trainer

GAMMA, N_STEP = 0.5, 3


class Elsewhere(Clockwork):
    """Its envs are not in the store."""

    resumable = False


def replay_of(trainer: Trainer) -> TransitionReplay:
    return trainer.algorithms["both"].replay  # type: ignore[attr-defined]


def resumed_after(iterations: int, run: Run) -> Trainer:
    """Resume and train on."""
    trainer = Trainer(run.config)
    trainer.resume(run)
    until = trainer.iteration + iterations
    trainer.train(run, stop=lambda: trainer.iteration == until)
    run.close()
    return trainer


@pytest.mark.long
@pytest.mark.parametrize("finals", [False, True])
def test_no_transition_reaches_across(tmp_path: Path, finals: bool) -> None:
    """An observation's first number is its timestep, so that a transition's length can be read off it."""
    entry: dict[str, Any] = {
        "algorithm": "dqn",
        "groups": ["left", "right"],
        "gamma": GAMMA,
        "n_step": N_STEP,
        "replay_size": 4 * 3 * 40,
        "learning_starts": 24,
        "batch_size": 24,
        "final_observations": finals,
    }
    config = config_from_dict(
        {
            "name": f"{__name__}:Elsewhere",
            "env": {"episode_length": 11, "ends": [0, 6]},
            "trainer": {"num_envs": 4, "num_steps": 4, "total_env_steps": 4 * 4 * 9},
            "policy": {"both": entry},
            "saving": {"checkpoint_every": 1},
        }
    )
    run, trainer = Run.create(config, tmp_path), Trainer(config)
    trainer.train(run, stop=lambda: trainer.iteration == 2)
    run.close()
    for _ in range(3):  # the second and third time what was marked before is read from files
        trainer = resumed_after(2, run)
    world, replay = trainer.world, replay_of(trainer)
    truncated, leaves = world["replay_ring_truncated_left"], replay.history.whole()["replay_leaves_left"]
    for written in (8, 16, 24):
        assert truncated[written - 1].all()
        drawable = (leaves[written - N_STEP : written] > 0).any(-1)
        goes_on = ~world["replay_ring_terminated_left"][written - 1]
        assert not drawable[:, goes_on].any() if finals else drawable[:-1].any() and not drawable[-1, goes_on].any()
    for _ in range(50):
        drawn = replay.draw()
        steps = drawn.next_observations[:, 0] - drawn.observations[:, 0]
        goes_on = drawn.discounts > 0
        assert torch.equal(drawn.discounts[goes_on], GAMMA ** steps[goes_on])
        assert (drawn.weights > 0).all()
