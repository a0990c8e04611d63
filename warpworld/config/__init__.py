"""From a YAML file and ``a.b=c`` overrides to a frozen, checked ``RunConfig``."""

from warpworld.config.run_config import RunConfig, config_from_dict, load_config
from warpworld.config.sections import LearnerConfig, ModelConfig, RandomConfig, SelfPlayConfig
from warpworld.packaged import packaged_configs

__all__ = [
    "LearnerConfig",
    "ModelConfig",
    "RandomConfig",
    "RunConfig",
    "SelfPlayConfig",
    "config_from_dict",
    "load_config",
    "packaged_configs",
]
