"""Reads a YAML file and ``a.b=c`` overrides into a frozen, checked ``RunConfig``."""

from warpworld.config.loading import config_from_dict, load_config
from warpworld.config.run_config import RunConfig
from warpworld.config.sections import ALGORITHM, Fault, LearnerConfig, ModelConfig, RandomConfig, SelfPlayConfig, Sizes
from warpworld.config.types import (
    Count,
    Flag,
    Fraction,
    FractionSchedule,
    NotNegative,
    NotNegativeSchedule,
    Positive,
    PositiveSchedule,
)
from warpworld.packaged import packaged_configs

__all__ = [
    "ALGORITHM",
    "Count",
    "Fault",
    "Flag",
    "Fraction",
    "FractionSchedule",
    "LearnerConfig",
    "ModelConfig",
    "NotNegative",
    "NotNegativeSchedule",
    "Positive",
    "PositiveSchedule",
    "RandomConfig",
    "RunConfig",
    "SelfPlayConfig",
    "Sizes",
    "config_from_dict",
    "load_config",
    "packaged_configs",
]
