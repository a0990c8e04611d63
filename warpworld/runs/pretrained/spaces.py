"""Observations and actions that a pretrained policy was trained with, compared with those of this version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.environment import action_parts, observation_parts, placed_groups
from warpworld.errors import RunError
from warpworld.runs.pretrained.description import check_format
from warpworld.version import __version__

if TYPE_CHECKING:
    from warpworld.config import RunConfig


def check_spaces(folder: Path, config: RunConfig) -> None:
    """Refuse a policy whose agents observe or do something else in this version.

    Args:
        folder: of the policy.
        config: of its run, as this version reads it.

    Raises:
        RunError: names the group, and what it was trained with.
    """
    before, now = check_format(folder), described_spaces(config)
    trained = before["spaces"]
    for name in {**trained, **now}:
        if trained.get(name) != now.get(name):
            raise RunError(
                f"pretrained policy '{folder.name}' was trained by warpworld {before['warpworld']} with group '{name}' "
                f"of {_text(trained.get(name))}, and in warpworld {__version__} it is of {_text(now.get(name))}: "
                f"install warpworld {before['warpworld']}, or train it again: warpworld train {folder.name}"
            )


def described_spaces(config: RunConfig) -> dict[str, dict[str, dict[str, str]]]:
    """Observations and actions of each group, by part, as JSON keeps them: dtype and shape, choices or numbers."""
    return {
        name: {
            "observation": {key: f"{part.dtype} {part.shape}" for key, part in observation_parts(group).items()},
            "action": {part.key: str(part.heads) if part.heads else f"{part.numbers} numbers"
                       for part in action_parts(group.action)},
        }
        for name, group in placed_groups(config.make_environment()).items()
    }  # fmt: skip


def _text(spaces: dict[str, dict[str, str]] | None) -> str:
    """Observations and actions of a group, in words."""
    if spaces is None:
        return "no agents"
    observed, done = (", ".join(f"{key} {what}".strip() for key, what in spaces[part].items()) for part in spaces)
    return f"observations {observed} and actions {done}"
