"""Worlds: many envs of one environment, stepped together on one device."""

from warpworld.world.kernel_constants import whole_number
from warpworld.world.outside_states import OUTSIDE_SIZE, OUTSIDE_STATE
from warpworld.world.random import philox
from warpworld.world.random_actions import RandomActions
from warpworld.world.reserved import BOOKKEEPING, ON_REQUEST, reserved_arrays
from warpworld.world.seeding import Seed
from warpworld.world.step_pipeline import MAX_KERNELS
from warpworld.world.world import World

__all__ = [
    "BOOKKEEPING",
    "MAX_KERNELS",
    "ON_REQUEST",
    "OUTSIDE_SIZE",
    "OUTSIDE_STATE",
    "RandomActions",
    "Seed",
    "World",
    "philox",
    "reserved_arrays",
    "whole_number",
]
