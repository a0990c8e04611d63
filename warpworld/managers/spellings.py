"""Names of WarpDrive's kernel parameters, read as the arrays and numbers of an environment.

WarpDrive's kernels write ``loc_x_arr`` for an array, ``kMaxSpeed`` for a number and ``_done_`` for an array of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# WarpDrive's word -> the name here; the name of a group may follow, as in `obs_tagger`
_WORDS = {
    **{"obs": "observations", "observation": "observations"},
    **{"sampled_actions": "actions", "action_indices": "actions", "action": "actions"},
    **{"reward": "rewards", "timestep": "env_timestep"},
    **{"n_agents": "num_agents", "n_envs": "num_envs"},
}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def stem(name: str) -> str:
    """A name in lower case with underscores, without ``_arr`` behind it, ``k`` before it and underscores around it."""
    bare = re.sub(r"^k(?=[A-Z])", "", name.strip("_"))
    return _HUMP.sub("_", bare).lower().removesuffix("_arr").strip("_")


def matches(name: str, known: Iterable[str]) -> list[str]:
    """The known names that a parameter may stand for: itself, else those of its stem, else those of WarpDrive's word.

    Underscores do not count, so that ``kLocX`` matches ``loc_x``; more than one match is ambiguous.
    """
    names = list(known)
    if name in names:
        return [name]
    own = stem(name)
    found = [each for each in names if _folded(each) == _folded(own)]
    return found or [each for each in names if _folded(each) in map(_folded, _translated(own))]


def _folded(name: str) -> str:
    return stem(name).replace("_", "")


def _translated(own: str) -> list[str]:
    return [
        meant + own.removeprefix(word) for word, meant in _WORDS.items() if own == word or own.startswith(f"{word}_")
    ]
