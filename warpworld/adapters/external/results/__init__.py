"""Results of a library's calls: numbers, flags and infos, checked, with the places that messages name."""

from warpworld.adapters.external.results.exact import is_of_numbers, lost_number
from warpworld.adapters.external.results.given import (
    LARGEST,
    RESET,
    RESET_OF_ONE,
    STEP,
    STEP_OF_ONE,
    are_flags,
    by_agent,
    ends_of,
    flag,
    ids_of,
    info_of,
    infos_by_agent,
    infos_of,
    number,
    results,
    rewards_of,
    step_of,
)
from warpworld.adapters.external.results.places import Place

__all__ = [
    "LARGEST",
    "RESET",
    "RESET_OF_ONE",
    "STEP",
    "STEP_OF_ONE",
    "Place",
    "are_flags",
    "by_agent",
    "ends_of",
    "flag",
    "ids_of",
    "info_of",
    "infos_by_agent",
    "infos_of",
    "is_of_numbers",
    "lost_number",
    "number",
    "results",
    "rewards_of",
    "step_of",
]
