"""Lines that wrap an environment whose spaces the store cannot hold, for messages."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Dict, OneOf, Space, Text, Tuple

_PAGE = "docs/external.md#wrappers shows where"
_FLAT = (Text, OneOf)  # that Gymnasium flattens into a Box


def observation_wrapper(where: str, whole: Space, path: tuple[Any, ...]) -> str:
    """Advice for an observation of which one part cannot be stored.

    Args:
        where: library and environment; its beginning tells which wrappers there are.
        whole: the observation's space.
        path: keys and indices that lead to the part.
    """
    other = _of_other_libraries(where, "observation_space and observations")
    if other:
        return other
    if len(path) == 1 and isinstance(whole, (Dict, Tuple)) and len(whole.spaces) > 1:
        steps = whole.spaces if isinstance(whole, Dict) else range(len(whole.spaces))
        kept = [step for step in steps if step != path[0]]
        return f"Wrap the env in gymnasium.wrappers.FilterObservation(env, {kept!r}), which leaves it out; {_PAGE}"
    if not path and isinstance(whole, _FLAT):
        return f"Wrap the env in gymnasium.wrappers.FlattenObservation(env); {_PAGE}"
    line = "gymnasium.wrappers.TransformObservation(env, lambda seen: ..., gymnasium.spaces.Box(...))"
    return f"Wrap the env in {line}, which makes numbers of it; {_PAGE}"


def action_wrapper(where: str, space: Space) -> str:
    """Advice for actions that the store cannot hold."""
    line = "gymnasium.wrappers.TransformAction(env, lambda action: ..., gymnasium.spaces.MultiDiscrete([...]))"
    return _of_other_libraries(where, "action_space and actions") or f"Wrap the env in {line}; {_PAGE}"


def _of_other_libraries(where: str, what: str) -> str:
    """Advice for libraries whose environments are none of Gymnasium's."""
    if where.startswith("external: pettingzoo"):
        bases = "pettingzoo.utils.BaseParallelWrapper, or in turn-based games pettingzoo.utils.BaseWrapper,"
        return f"Wrap the env in a subclass of {bases} with another {what}; {_PAGE}"
    if where.startswith("external: envpool"):
        return f"Wrap the pool in a gymnasium.vector.VectorEnv with another {what}; {_PAGE}"
    return ""


def short(space: Space) -> str:
    """Text of a space, cut at 120 characters."""
    text = str(space)
    return text if len(text) <= 120 else f"{text[:117]}..."
