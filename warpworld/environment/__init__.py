"""Declarations of an author: an environment, its arrays, groups and kernels; and the registry of names."""

from warpworld.environment.declarations import (
    DTYPES,
    MAX_THREADS_PER_ENV,
    METRICS,
    MOST_AGENTS,
    Array,
    Group,
    Kernel,
    Phase,
    Script,
    eager_phase,
    masked_phase,
)
from warpworld.environment.environment import Environment, critic_space, names_file, placed_groups, state_space
from warpworld.environment.ranges import Range
from warpworld.environment.registry import environment_names, get_environment, register
from warpworld.environment.spaces import action_heads, action_layout, observation_parts
from warpworld.packaged import packaged_names

__all__ = [
    "DTYPES",
    "MAX_THREADS_PER_ENV",
    "METRICS",
    "MOST_AGENTS",
    "Array",
    "Environment",
    "Group",
    "Kernel",
    "Phase",
    "Range",
    "Script",
    "action_heads",
    "action_layout",
    "critic_space",
    "eager_phase",
    "environment_names",
    "get_environment",
    "masked_phase",
    "names_file",
    "observation_parts",
    "packaged_names",
    "placed_groups",
    "register",
    "state_space",
]
