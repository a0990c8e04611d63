"""Building blocks for environments in floor plans that are written in Python alone."""

from warpworld.blocks.block import Block
from warpworld.blocks.environment import BlockEnvironment, BlockParams
from warpworld.blocks.lives import RandomLifespans, RandomSpawns
from warpworld.blocks.movement import MomentumMovement, SimpleMovement
from warpworld.blocks.senses import IMU, RGB, AgentPixels, Depth

__all__ = [
    "IMU",
    "RGB",
    "AgentPixels",
    "Block",
    "BlockEnvironment",
    "BlockParams",
    "Depth",
    "MomentumMovement",
    "RandomLifespans",
    "RandomSpawns",
    "SimpleMovement",
]
