"""Limits of a world's size: kernels index with int, and random numbers know agents by 16 bits."""

from __future__ import annotations

import math

from warpworld.environment import MOST_AGENTS, Array
from warpworld.errors import DeclarationError

LARGEST_INDEX = 2**31 - 1


def check_agents(num_envs: int, num_agents: int) -> None:
    """Refuse more agents than random numbers tell apart in an env, or than an int can count in all of them.

    Raises:
        DeclarationError: there are more.
    """
    if num_agents > MOST_AGENTS:
        raise DeclarationError(
            f"{num_agents:,} agents in an env: expected at most {MOST_AGENTS:,}, whom random numbers tell apart"
        )
    if num_envs * num_agents > LARGEST_INDEX:
        raise DeclarationError(
            f"num_envs={num_envs}: with {num_agents} agents each, there are more than an int can count"
        )


def check_indices(array: Array, num_envs: int, num_agents: int) -> None:
    """Refuse an array with an element that an int cannot index; a trainer's arrays, which use size_t, may have more.

    Raises:
        DeclarationError: it has more elements.
    """
    elements = math.prod(array.full_shape(num_envs, num_agents))
    if elements > LARGEST_INDEX + 1:
        raise DeclarationError(
            f"array '{array.name}': {elements:,} elements with num_envs={num_envs}, but kernels index with int, which "
            f"counts to {LARGEST_INDEX:,}: ask for fewer envs, or a smaller array"
        )
