"""Reads a YAML file and ``a.b=c`` overrides into a frozen, checked ``RunConfig``."""

from warpworld.config.described import NO_DEFAULT, Key, described, described_params
from warpworld.config.documents import Document, KeyPath, check_encodable, dump_value, validated
from warpworld.config.endless_config import endless, load_endless
from warpworld.config.loading import check_playable, config_from_dict, load_config, with_env
from warpworld.config.named_classes import algorithm_class, model_class, recorder
from warpworld.config.overrides import full_overrides
from warpworld.config.population import population_entries
from warpworld.config.reward_settings import RewardSettings
from warpworld.config.run_config import RunConfig
from warpworld.config.saved import SavedConfig, foreign_code, has_outline, read_saved
from warpworld.config.sections import (
    ALGORITHM,
    CELLS,
    CurriculumConfig,
    Fault,
    LearnerConfig,
    ModelConfig,
    PopulationConfig,
    RandomConfig,
    ScriptConfig,
    Section,
    SelfPlayConfig,
    Sizes,
    TrainerConfig,
)
from warpworld.config.self_play import RANDOM, is_run, opponents_envs, self_play_entries, sides_of, slots_of
from warpworld.config.types import (
    REQUIRED,
    Count,
    Flag,
    Fraction,
    FractionSchedule,
    Label,
    NotNegative,
    NotNegativeSchedule,
    Positive,
    PositiveSchedule,
    Text,
)
from warpworld.packaged import packaged_configs

__all__ = [
    "ALGORITHM",
    "CELLS",
    "NO_DEFAULT",
    "RANDOM",
    "REQUIRED",
    "Count",
    "CurriculumConfig",
    "Document",
    "Fault",
    "Flag",
    "Fraction",
    "FractionSchedule",
    "Key",
    "KeyPath",
    "Label",
    "LearnerConfig",
    "ModelConfig",
    "NotNegative",
    "NotNegativeSchedule",
    "PopulationConfig",
    "Positive",
    "PositiveSchedule",
    "RandomConfig",
    "RewardSettings",
    "RunConfig",
    "SavedConfig",
    "ScriptConfig",
    "Section",
    "SelfPlayConfig",
    "Sizes",
    "Text",
    "TrainerConfig",
    "algorithm_class",
    "check_encodable",
    "check_playable",
    "config_from_dict",
    "described",
    "described_params",
    "dump_value",
    "endless",
    "foreign_code",
    "full_overrides",
    "has_outline",
    "is_run",
    "load_config",
    "load_endless",
    "model_class",
    "opponents_envs",
    "packaged_configs",
    "population_entries",
    "read_saved",
    "recorder",
    "self_play_entries",
    "sides_of",
    "slots_of",
    "validated",
    "with_env",
]
