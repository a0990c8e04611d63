"""Declarations of an author: an environment, its arrays, groups and kernels; and the registry of names."""

from warpworld.environment.action_names import names_of_choices
from warpworld.environment.declarations import (
    DTYPES,
    MAX_THREADS_PER_ENV,
    METRICS,
    MOST_AGENTS,
    Array,
    Group,
    Kernel,
    Per,
    Phase,
    Script,
    check_names,
    eager_phase,
    masked_phase,
)
from warpworld.environment.environment import Environment, critic_space, names_file, placed_groups, state_space
from warpworld.environment.gym_spaces import as_gymnasium
from warpworld.environment.library_actions import is_whole, library_actions, stored_action
from warpworld.environment.own_spaces import own_space
from warpworld.environment.params import expected_instead, limits_of, plain_types
from warpworld.environment.parts import SERVED, Part, feature_shapes, part_of, parts_of, subspaces
from warpworld.environment.per_env import checked_ends, per_env_dtypes
from warpworld.environment.ranges import Range
from warpworld.environment.registry import environment_names, get_environment, register
from warpworld.environment.spaces import (
    action_arrays,
    action_bounds,
    action_heads,
    action_layout,
    action_start,
    group_suffix,
    observation_arrays,
    observation_names,
    observation_parts,
    space_actions,
    space_constants,
)
from warpworld.packaged import packaged_names

__all__ = [
    "DTYPES",
    "MAX_THREADS_PER_ENV",
    "METRICS",
    "MOST_AGENTS",
    "SERVED",
    "Array",
    "Environment",
    "Group",
    "Kernel",
    "Part",
    "Per",
    "Phase",
    "Range",
    "Script",
    "action_arrays",
    "action_bounds",
    "action_heads",
    "action_layout",
    "action_start",
    "as_gymnasium",
    "check_names",
    "checked_ends",
    "critic_space",
    "eager_phase",
    "environment_names",
    "expected_instead",
    "feature_shapes",
    "get_environment",
    "group_suffix",
    "is_whole",
    "library_actions",
    "limits_of",
    "masked_phase",
    "names_file",
    "names_of_choices",
    "observation_arrays",
    "observation_names",
    "observation_parts",
    "own_space",
    "packaged_names",
    "part_of",
    "parts_of",
    "per_env_dtypes",
    "placed_groups",
    "plain_types",
    "register",
    "space_actions",
    "space_constants",
    "state_space",
    "stored_action",
    "subspaces",
]
