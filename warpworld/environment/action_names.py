"""Names of a group's actions, which replays, traces and people who play read, and keys that stand for them."""

from __future__ import annotations

from gymnasium.spaces import Discrete

from warpworld.environment.declarations import Group
from warpworld.environment.named_actions import Heads, as_heads


def names_of_choices(group: Group) -> list[str]:
    """Names by the choices that the store holds, which count from 0; empty if they have none, or it is no Discrete."""
    return list(names_of_heads(group)[0]) if group.action_names and isinstance(group.action, Discrete) else []


def names_of_heads(group: Group) -> Heads:
    """Names by head and choice; of a Box by number, of its lowest and its highest value. Empty if there are none."""
    return as_heads(group.action, group.action_names)


def keys_of_heads(group: Group) -> Heads:
    """Keys by head and choice, "" where none stands for a choice; empty if the group declares none."""
    return as_heads(group.action, group.action_keys)
