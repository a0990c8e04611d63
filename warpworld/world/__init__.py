"""Worlds: many envs of one environment, stepped together on one device."""

from warpworld.world.world import MAX_KERNELS, World, make

__all__ = ["MAX_KERNELS", "World", "make"]
