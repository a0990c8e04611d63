"""How large a world may be: its kernels index with int."""

from __future__ import annotations

import math

from warpworld.environment import Array
from warpworld.errors import DeclarationError

LARGEST_INDEX = 2**31 - 1


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
