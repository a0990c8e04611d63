"""Derives the reserved arrays of observations and actions from groups' gymnasium spaces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from gymnasium.spaces import Dict

from warpworld.environment.action_parts import ActionPart, action_parts, action_start
from warpworld.environment.declarations import Array, Group
from warpworld.environment.parts import SERVED, Part, part_of, subspaces
from warpworld.errors import DeclarationError

_KEY = re.compile(r"[A-Za-z0-9_]+\Z")


def observation_parts(group: Group) -> dict[str, Part]:
    """The parts of a group's observation: by key for a Dict space, else under the empty name.

    Raises:
        DeclarationError: the space, or one in a Dict, is none that a policy can read.
    """
    found: dict[str, Part] = {}
    for key, space in subspaces(group.observation).items():
        where = f"group '{group.name}': observation{f' {key!r}' if key else ''}"
        if isinstance(group.observation, Dict) and not (isinstance(key, str) and _KEY.match(key)):
            raise DeclarationError(f"{where}: expected a key of letters, digits and underscores, as array names have")
        part = part_of(space)
        if part is None:
            raise DeclarationError(f"{where} is {space}; expected a {SERVED}, or a Dict of such")
        found[key] = part
    if not found or 0 in [part.numbers for part in found.values()]:
        raise DeclarationError(f"group '{group.name}': observation {group.observation} holds no number")
    return found


def _layout(group: Group, what: str) -> object:
    """Layout that all groups which share arrays of ``what`` must have."""
    if what == "actions":
        return {part.key: (part.dtype, part.numbers) for part in action_parts(group.action)}
    return {key: (part.dtype, part.shape) for key, part in observation_parts(group).items()}


def _differ(groups: Mapping[str, Group], what: str) -> bool:
    layouts = [_layout(group, what) for group in groups.values()]
    asks = (group.own_arrays or group.agents is not None for group in groups.values())
    return any(layout != layouts[0] for layout in layouts) or any(asks)


def group_suffix(groups: Mapping[str, Group], group: Group, what: str) -> str:
    """The ending of a group's arrays of ``what``: "_<group>" where each group has its own, else nothing.

    Each has its own where groups differ in layout, and where one of them asks for arrays of its own.
    """
    return f"_{group.name}" if _differ(groups, what) else ""


def observation_names(groups: Mapping[str, Group], group: Group) -> dict[str, str]:
    """Name of the array that holds each part of a group's observation."""
    base = "observations" + group_suffix(groups, group, "observations")
    return {key: f"{base}_{key}" if key else base for key in observation_parts(group)}


def observation_arrays(groups: Mapping[str, Group]) -> list[Array]:
    """The arrays of all observations: shared by all groups, or one set for each; see ``group_suffix``.

    Raises:
        DeclarationError: a group's name and a key make the same array name as another's.
    """
    apart = _differ(groups, "observations")
    found: dict[str, Array] = {}
    for group in groups.values():
        parts = observation_parts(group)
        for key, name in observation_names(groups, group).items():
            if apart and name in found:
                raise DeclarationError(f"two groups' observations make the array '{name}'; rename a group or a key")
            found[name] = Array(
                name,
                parts[key].dtype,
                (group.size, *parts[key].shape) if apart else parts[key].shape,
                per="env" if apart else "agent",
                doc="what each agent sees",
            )
    return list(found.values())


def action_names(groups: Mapping[str, Group], group: Group) -> dict[str, str]:
    """Name of the array that holds each part of a group's actions; "" is the part of a space without parts."""
    base = "actions" + group_suffix(groups, group, "actions")
    return {part.key: f"{base}_{part.key}" if part.key else base for part in action_parts(group.action)}


def action_arrays(groups: Mapping[str, Group]) -> list[Array]:
    """The arrays of all actions: (num_envs, agents, heads or dimensions), one for each part of a Dict or Tuple.

    Raises:
        DeclarationError: a group's name and a key make the same array name as another's.
    """
    apart = _differ(groups, "actions")
    found: dict[str, Array] = {}
    for group in groups.values():
        names = action_names(groups, group)
        for part in action_parts(group.action):
            name = names[part.key]
            if apart and name in found:
                raise DeclarationError(f"two groups' actions make the array '{name}'; rename a group or a key")
            found[name] = Array(
                name,
                part.dtype,
                (group.size, part.numbers) if apart else (part.numbers,),
                per="env" if apart else "agent",
                initial=0,
                read_only=True,
                on_reset="keep",
                doc="what each agent does",
            )
    return list(found.values())


class LegalValues(NamedTuple):
    """Legal values of an actions array: one for each entry of an env, in the order in which they lie.

    Attributes:
        low: the least legal value.
        high: the greatest.
        start: what the space counts from where the store counts from 0; 0 elsewhere.
    """

    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    start: tuple[float, ...] = ()


def action_bounds(groups: Mapping[str, Group]) -> dict[str, LegalValues]:
    """Legal values of each actions array, by its name."""
    found: dict[str, LegalValues] = {}
    for group in groups.values():
        names = action_names(groups, group)
        for part in action_parts(group.action):
            name = names[part.key]
            before, own = found.get(name, LegalValues()), _bounds_of_one(part)
            found[name] = LegalValues(*(rows + group.size * row for rows, row in zip(before, own, strict=True)))
    return found


def _bounds_of_one(part: ActionPart) -> LegalValues:
    """Legal values of one agent's entry."""
    start = np.broadcast_to(action_start(part.space).ravel(), part.numbers)
    return LegalValues(*(tuple(map(float, each.tolist())) for each in (part.low, part.high, start)))


def space_constants(groups: Mapping[str, Group]) -> dict[str, int]:
    """The constants that kernels get: ``<GROUP>_FIRST``, ``_COUNT`` and perhaps ``_STRIDE``, ``OBSERVATION_SIZE``."""
    constants: dict[str, int] = {}
    for group in groups.values():
        constants[f"{group.name.upper()}_FIRST"] = group.first
        constants[f"{group.name.upper()}_COUNT"] = group.size
        if group.agents is not None:
            constants[f"{group.name.upper()}_STRIDE"] = group.stride
        parts = observation_parts(group)
        for key, name in observation_names(groups, group).items():
            suffix = name.removeprefix("observations").upper()
            constants[f"OBSERVATION_SIZE{suffix}"] = parts[key].numbers
    return constants
