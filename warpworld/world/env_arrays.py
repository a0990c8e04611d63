"""The state of one env on the host, as drawings and pages read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warpworld.world.reserved import BOOKKEEPING

if TYPE_CHECKING:
    from warpworld.world.world import World


def arrays_of(world: World, env: int) -> dict[str, np.ndarray]:
    """Copy one env's part of each array that describes its state to NumPy, by name."""
    kept = [name for name in world.data.names("state") if name not in BOOKKEEPING]
    parts = {name: world[name] if world.data.array(name).per == "world" else world[name][env] for name in kept}
    return {name: part.cpu().numpy().copy() for name, part in parts.items()}
