"""A run without an end and without pauses, by which the speed of training is measured."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from warpworld.config.loading import config_from_dict, load_config
from warpworld.config.run_config import RunConfig
from warpworld.config.sections import LearnerConfig

NEVER = 10**15  # env steps, and iterations


def endless(config: RunConfig) -> RunConfig:
    """The config without an end, checkpoints or evaluations; each iteration is logged, and off-policy ones learn soon.

    A replay's ``learning_starts`` is one batch: otherwise nothing would be learnt while the clock runs.
    """
    data = config.to_dict()
    data["trainer"] |= {"total_env_steps": NEVER, "stop_when": {}, "patience": None}
    data["saving"] |= {"log_every": 1, "checkpoint_every": NEVER, "eval_every": None, "eval_opponents": []}
    for name, entry in config.policy.items():
        if isinstance(entry, LearnerConfig) and entry.train and "learning_starts" in data["policy"][name]:
            data["policy"][name]["learning_starts"] = data["policy"][name]["batch_size"]
    return config_from_dict(data)


def load_endless(source: str | Path, overrides: Iterable[str] = ()) -> RunConfig:
    """``endless(load_config(source, overrides))``, also where an iteration is longer than the run would be.

    Raises:
        ConfigError: as ``load_config``.
    """
    return endless(load_config(source, [f"trainer.total_env_steps={NEVER}", *overrides]))
