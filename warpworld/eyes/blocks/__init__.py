"""Building blocks for environments in floor plans, or of bodies that push, that are written in Python alone."""

from warpworld.eyes.blocks.block import Block
from warpworld.eyes.blocks.block_environment import BlockEnvironment, BlockParams
from warpworld.eyes.blocks.body import Body
from warpworld.eyes.blocks.body_environment import BodyEnvironment, BodyParams
from warpworld.eyes.blocks.hits import Hits
from warpworld.eyes.blocks.lives import RandomLifespans, RandomSpawns
from warpworld.eyes.blocks.movement import MomentumMovement, SimpleMovement
from warpworld.eyes.blocks.senses import IMU, RGB, AgentPixels, Depth

__all__ = [
    "IMU",
    "RGB",
    "AgentPixels",
    "Block",
    "BlockEnvironment",
    "BlockParams",
    "Body",
    "BodyEnvironment",
    "BodyParams",
    "Depth",
    "Hits",
    "MomentumMovement",
    "RandomLifespans",
    "RandomSpawns",
    "SimpleMovement",
]
