"""Names of a group's actions, which replays and traces show."""

from __future__ import annotations

from warpworld.environment.declarations import Group


def names_of_choices(group: Group) -> list[str]:
    """Names by the choices that the store holds, which count from 0; empty if the group's actions have none."""
    return list(group.action_names or ())
