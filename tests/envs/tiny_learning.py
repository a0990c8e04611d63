"""What tests of tiny worlds train, and how they examine it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warpworld.config import config_from_dict
from warpworld.runs import Run
from warpworld.trainers.play import play
from warpworld.trainers.trainer import Trainer

DQN = dict(
    algorithm="dqn",
    model={"hidden_sizes": [32], "activation": "relu"},
    **dict(learning_rate=3e-3, replay_size=20_000, learning_starts=2_000, batch_size=64, updates=4, target_every=50),
)


def greedy_return(data: dict[str, Any], folder: Path) -> float:
    """The mean return of greedy episodes after training."""
    trainer = Trainer(config_from_dict(data))
    trainer.train(Run.create(trainer.config, folder))
    return float(play(trainer.config, trainer.policies, 256, greedy=True).returns["agent"].mean())
