"""Policies that learn from rewards that were all 0: mostly a fault of the environment, and easily overlooked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpworld.runs.metrics.points import RETURN

# A line of metrics has this number, 1, if no reward of the policy's agents differed from 0 in its rollout.
UNREWARDED = "charts/{}/unrewarded"


class Unrewarded:
    """Finds the policies whose rewards were all 0 in every line of metrics.

    Args:
        policies: the entries of the config's ``policy`` section, by name; those that do not learn are left out.
    """

    def __init__(self, policies: Mapping[str, Any]) -> None:
        self._names = [name for name, entry in policies.items() if _learns(entry)]
        self._has_rows = False

    def take(self, row: Mapping[str, Any]) -> None:
        """Take in the metrics of an iteration; those that were not logged say nothing."""
        if "charts/episodes" not in row:
            return
        self._has_rows = True
        self._names = [name for name in self._names if row.get(UNREWARDED.format(name)) and not _earned(row, name)]

    @property
    def is_settled(self) -> bool:
        """Whether no policy is left that further lines could say something of."""
        return not self._names

    @property
    def message(self) -> str:
        """A line that names them; "" if there is none."""
        if not self._has_rows or not self._names:
            return ""
        names = ", ".join(self._names)
        return f"all rewards of {names} were 0: look at those that the environment gives, which warpworld run shows"


def _earned(row: Mapping[str, Any], name: str) -> bool:
    """Whether a mean return differs from 0; NaN and null do not."""
    value = row.get(RETURN.format(name))
    return isinstance(value, (int, float)) and value == value and value != 0


def _learns(entry: Any) -> bool:
    given = entry if isinstance(entry, Mapping) else vars(entry)
    return bool(given.get("train", True)) and given.get("algorithm", "random") not in ("random", "script")
