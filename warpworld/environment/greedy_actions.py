"""Greedy actions beside those that are taken: the array of an environment that learners of values fill."""

from __future__ import annotations

from collections.abc import Iterable

from warpworld.environment.action_parts import action_layout
from warpworld.environment.declarations import Array, Group
from warpworld.errors import DeclarationError, suggest


def check_greedy_actions(where: str, group: Group, arrays: Iterable[Array]) -> None:
    """Check the array that a group names for its greedy actions.

    Args:
        where: name of the environment, for messages.
        group: the group.
        arrays: the environment's own.

    Raises:
        DeclarationError: no such array, or one that does not hold an action of choices for each agent.
    """
    assert group.greedy_actions is not None
    where = f"{where}: group '{group.name}' has greedy_actions='{group.greedy_actions}'"
    known = {array.name: array for array in arrays}
    array = known.get(group.greedy_actions)
    if array is None:
        raise DeclarationError(f"{where}, which is not an array of it.{suggest(group.greedy_actions, known)}")
    dtype, size = action_layout(group.action)
    if dtype != "int32":
        raise DeclarationError(f"{where}, but acts in {group.action}, expected choices; leave greedy_actions out")
    fits = array.dtype == dtype and array.per == "agent" and array.shape in ([(size,), ()] if size == 1 else [(size,)])
    if not fits:
        raise DeclarationError(
            f"{where}, an array of {array.dtype} per {array.per} of shape {array.shape}, expected int32 per agent of "
            f"shape {(size,)}"
        )
