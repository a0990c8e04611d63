"""Names of a group's actions, which replays, traces and people who play read, and keys that stand for them."""

from __future__ import annotations

from gymnasium.spaces import Box

from warpworld.environment.declarations import Group
from warpworld.environment.named_actions import Heads, as_heads


def names_of_choices(group: Group) -> Heads:
    """Names by head and choice, which the store counts from 0; empty if there are none, or the action is a Box."""
    return () if isinstance(group.action, Box) else names_of_heads(group)


def names_of_heads(group: Group) -> Heads:
    """Names by head and choice; of a Box by number, of its lowest and its highest value. Empty if there are none."""
    return as_heads(group.action, group.action_names)


def keys_of_heads(group: Group) -> Heads:
    """Keys by head and choice, "" where none stands for a choice; empty if the group declares none."""
    return as_heads(group.action, group.action_keys)
