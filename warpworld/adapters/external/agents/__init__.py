"""Agents of a library's envs: their groups, what they see, and what they may do."""

from warpworld.adapters.external.agents.agents import Agents, single_group
from warpworld.adapters.external.agents.vector_masks import VectorMasks

__all__ = [
    "Agents",
    "VectorMasks",
    "single_group",
]
