"""A game as arrays: what each group saw, did and received, for programs that learn from games."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from warpworld.cli.play.seats import Seat
from warpworld.environment import Group, group_suffix, observation_names
from warpworld.report import Step
from warpworld.world import World

OF_AGENTS = ("rewards", "action_mask", "agent_mask", "agent_terminated", "agent_truncated")
BEFORE_STEPS = ("action_mask",)  # which there is at the start, too


def game_data(world: World, steps: Sequence[Step], seat: Seat) -> dict[str, np.ndarray]:
    """Arrays of an episode, named as in the store, with the group behind the name.

    Args:
        world: that was played.
        steps: the episode's start, then each of its T steps.
        seat: the agent that the person played.

    Returns:
        For each group ``observations_<group>`` (T + 1, size, *shape), or one for each part of a Dict;
        ``actions_<group>`` (T, size, numbers), likewise; ``rewards_<group>`` (T, size) float32; and of the arrays that
        the environment has ``action_mask_<group>`` (T + 1, size, choices) and ``agent_mask_<group>``,
        ``agent_terminated_<group>`` and ``agent_truncated_<group>`` (T, size) bool. Besides ``terminated`` and
        ``truncated`` (T,) bool, and ``played``, the number of the person's agent.
    """
    found: dict[str, np.ndarray] = {}
    for group in world.groups.values():
        for what, names, first in (
            ("observations", observation_names(world.groups, group), 0),
            ("actions", world.action_names(group.name), 1),
        ):
            shared = not group_suffix(world.groups, group, what)
            for key, name in names.items():
                own = f"{what}_{group.name}" + (f"_{key}" if key else "")
                found[own] = _stacked(steps[first:], name, group if shared else None)
        for name in OF_AGENTS:
            if name in steps[0].arrays:
                first = 0 if name in BEFORE_STEPS else 1
                found[f"{name}_{group.name}"] = _stacked(steps[first:], name, group)
    ends = {name: _stacked(steps[1:], name, None) for name in ("terminated", "truncated")}
    return {**found, **ends, "played": np.array(seat.agent)}


def _stacked(steps: Sequence[Step], name: str, group: Group | None) -> np.ndarray:
    """An array over the steps, of a group's agents where it is of all."""
    rows = [step.arrays[name] for step in steps]
    return np.stack([row if group is None else row[group.slice] for row in rows])


def npz_of(data: dict[str, np.ndarray]) -> bytes:
    """The arrays as a compressed file, which ``numpy.load`` reads."""
    file = io.BytesIO()
    np.savez_compressed(file, **data)  # type: ignore[arg-type]
    return file.getvalue()
