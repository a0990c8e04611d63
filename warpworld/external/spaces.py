"""From other libraries' spaces to those that the store holds."""

from __future__ import annotations

import numpy as np
from gymnasium.spaces import Box, Dict, Space

from warpworld.environment.gym_spaces import as_gymnasium


def stored_space(space: Space) -> Space:
    """The space as the store holds it: numbers that are neither uint8 nor float16 become float32.

    Other spaces than a Box, or a Dict of them, stay as they are; a World accepts or refuses them.
    """
    space = as_gymnasium(space)
    if isinstance(space, Dict):
        return Dict({key: stored_space(part) for key, part in space.spaces.items()})
    if not isinstance(space, Box) or space.dtype in (np.uint8, np.float16, np.float32):
        return space
    return Box(space.low.astype(np.float32), space.high.astype(np.float32), dtype=np.float32)
