"""Building blocks for environments in floor plans that are written in Python alone."""

from warpworld.eyes.blocks import (
    IMU,
    RGB,
    AgentPixels,
    Block,
    BlockEnvironment,
    BlockParams,
    Depth,
    MomentumMovement,
    RandomLifespans,
    RandomSpawns,
    SimpleMovement,
)

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
