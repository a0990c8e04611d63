"""A small run whose two policies learn from replays: what the tests of resuming them share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warpworld.config import RunConfig, config_from_dict
from warpworld.runs import Run
from warpworld.trainers.trainer import Trainer

ITERATIONS = 8
_DQN = {
    "algorithm": "dqn",
    "learning_starts": 60,
    "batch_size": 16,
    "updates": 2,
    "target_every": 5,
    "learning_rate": 0.01,
    "model": {"hidden_sizes": [8]},
}


def remembering(saving: dict[str, Any] | None = None, **trainer: Any) -> RunConfig:
    """Rings of two sizes, both written over in the run; one keeps final observations, one its actors' priorities."""
    tagger = {**_DQN, "replay_size": 240, "final_observations": True}
    runner = {**_DQN, "replay_size": 90, "final_observations": False, "first_priority": "actor"}
    sizes = {"device": "cpu", "num_envs": 4, "num_steps": 6, "total_env_steps": 4 * 6 * ITERATIONS, "torch_threads": 1}
    return config_from_dict(
        {
            "name": "tag_gridworld",
            "env": {"num_taggers": 2, "episode_length": 7},
            "trainer": {**sizes, **trainer},
            "policy": {"tagger": tagger, "runner": runner},
            "saving": {"checkpoint_every": 1, **(saving or {})},
        }
    )


def trained_to(config: RunConfig, directory: Path, iteration: int = ITERATIONS) -> Run:
    """A run after some iterations; nobody holds its lock."""
    run, trainer = Run.create(config, directory), Trainer(config)
    trainer.train(run, stop=lambda: trainer.iteration == iteration)
    run.close()
    return run


def gone_on(run: Run, config: RunConfig | None = None) -> Trainer:
    """Resume a run and train it to its end."""
    trainer = Trainer(config or run.config)
    trainer.resume(run)
    trainer.train(run)
    run.close()
    return trainer


def files(run: Run) -> list[str]:
    """Names of what replays remember."""
    return sorted(path.name for path in run.past_folder.glob("*"))
