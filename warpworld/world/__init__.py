"""Worlds: many envs of one environment, stepped together on one device."""

from warpworld.world.step_pipeline import MAX_KERNELS
from warpworld.world.world import World

__all__ = ["MAX_KERNELS", "World"]
