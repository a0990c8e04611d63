"""Memory of a replay: reported at the start, refused if it is more than there is."""

from __future__ import annotations

import logging
import math

from warpworld.errors import ConfigError
from warpworld.managers import amount, torch_dtype
from warpworld.trainers.replay.policy_agents import PolicyAgents
from warpworld.world import World

logger = logging.getLogger(__name__)


def settle_size(world: World, policy_agents: PolicyAgents, transitions: int) -> None:
    """Report the memory that a ring takes, or refuse it.

    Args:
        world: unsealed, with all arrays of the ring.
        policy_agents: those that the ring is of.
        transitions: that the ring of this process holds.

    Raises:
        ConfigError: there is not enough memory; names how many transitions would fit.
    """
    nbytes = sum(_bytes_of(world, name) for name in world.data.names("history") if policy_agents.owns(name))
    each, free = nbytes / transitions, world.data.free_memory()
    if free is not None and nbytes > free:
        raise ConfigError(
            f"policy of group '{policy_agents.name}': replay_size asks for {transitions:,} transitions of "
            f"{each:.0f} bytes, {amount(nbytes)}, and {amount(free)} are free; {int(free / each):,} would fit"
        )
    replay = f"{transitions:,} transitions of {each:.0f} bytes, {amount(nbytes)}"
    logger.info("replay of group '%s': %s", policy_agents.name, replay)


def _bytes_of(world: World, name: str) -> int:
    array = world.data.array(name)
    return math.prod(array.full_shape(world.num_envs, world.num_agents)) * torch_dtype(array.dtype).itemsize
