"""Multi-agent reinforcement learning on one device: environments as CUDA kernels, on a GPU or on a CPU."""

from warpworld.adapters.registration import register_all
from warpworld.checking import check, compare
from warpworld.environment import (
    Array,
    Environment,
    Group,
    Kernel,
    eager_phase,
    environment_names,
    masked_phase,
    register,
)
from warpworld.errors import WarpworldError
from warpworld.tracing import Trace
from warpworld.world import World, make

__version__ = "0.1.0"

__all__ = [
    "Array",
    "Environment",
    "Group",
    "Kernel",
    "Trace",
    "WarpworldError",
    "World",
    "check",
    "compare",
    "eager_phase",
    "environment_names",
    "make",
    "masked_phase",
    "register",
]

register_all()  # with Gymnasium, which has no other way to find an installed package's environments
