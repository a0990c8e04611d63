"""Multi-agent reinforcement learning on one device: environments as CUDA kernels, on a GPU or on a CPU."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from warpworld.adapters.making import make
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
from warpworld.world import World

if TYPE_CHECKING:
    from warpworld.config import load_config
    from warpworld.exporting import export_policy
    from warpworld.python_api.load_policy import load_policy
    from warpworld.python_api.rollout import rollout
    from warpworld.python_api.train import train
    from warpworld.runs import Run
    from warpworld.trainers.trainer import Trainer

__version__ = "0.1.0"

__all__ = [
    "Array",
    "Environment",
    "Group",
    "Kernel",
    "Run",
    "Trace",
    "Trainer",
    "WarpworldError",
    "World",
    "check",
    "compare",
    "eager_phase",
    "environment_names",
    "export_policy",
    "load_config",
    "load_policy",
    "make",
    "masked_phase",
    "register",
    "rollout",
    "train",
]

_IMPORTED_WHEN_ASKED_FOR = {  # with torch, which takes its time
    "Run": "warpworld.runs",
    "Trainer": "warpworld.trainers.trainer",
    "export_policy": "warpworld.exporting",
    "load_config": "warpworld.config",
    "load_policy": "warpworld.python_api.load_policy",
    "rollout": "warpworld.python_api.rollout",
    "train": "warpworld.python_api.train",
}


def __getattr__(name: str) -> Any:
    if name not in _IMPORTED_WHEN_ASKED_FOR:
        raise AttributeError(f"module 'warpworld' has no attribute '{name}'")
    return getattr(import_module(_IMPORTED_WHEN_ASKED_FOR[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_IMPORTED_WHEN_ASKED_FOR})


register_all()  # with Gymnasium, which has no other way to find an installed package's environments
