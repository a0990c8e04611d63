"""What the tests of resuming share."""

from __future__ import annotations

from typing import Any

from warpworld.config import RunConfig, config_from_dict
from warpworld.runs import Run
from warpworld.trainers.trainer import Trainer


def resumed(run: Run, config: RunConfig | None = None) -> Trainer:
    trainer = Trainer(config or run.config)
    trainer.resume(run)
    return trainer


def changed(config: RunConfig, section: str, **values: Any) -> RunConfig:
    data = config.to_dict()
    return config_from_dict({**data, section: {**data[section], **values}})
