"""Building blocks for environments in floor plans that are written in Python alone."""

from warpworld.eyes.blocks import *  # noqa: F403 (a door: the names are declared there)
from warpworld.eyes.blocks import __all__ as __all__
