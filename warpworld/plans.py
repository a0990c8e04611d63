"""Floor plans: homes drawn from a seed, toys, files, and many plans packed for kernels."""

from warpworld.eyes.plans import *  # noqa: F403 (a door: the names are declared there)
from warpworld.eyes.plans import __all__ as __all__
