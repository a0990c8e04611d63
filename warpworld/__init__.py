"""Multi-agent reinforcement learning on one device: environments as CUDA kernels, on a GPU or on a CPU."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from warpworld.importing import when_imported
from warpworld.version import __version__ as __version__

if TYPE_CHECKING:
    from warpworld.adapters.making import make
    from warpworld.checking import check, compare
    from warpworld.checking.tracing import Trace
    from warpworld.config import load_config
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
    from warpworld.policies.exporting import export_policy
    from warpworld.runs import Run
    from warpworld.trainers.from_python.load_policy import load_policy
    from warpworld.trainers.from_python.rollout import rollout
    from warpworld.trainers.from_python.train import train
    from warpworld.trainers.trainer import Trainer
    from warpworld.world import World

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

_HOMES = {  # imported when asked for: the command line starts without NumPy, Gymnasium and torch
    "Array": "warpworld.environment",
    "Environment": "warpworld.environment",
    "Group": "warpworld.environment",
    "Kernel": "warpworld.environment",
    "Run": "warpworld.runs",
    "Trace": "warpworld.checking.tracing",
    "Trainer": "warpworld.trainers.trainer",
    "WarpworldError": "warpworld.errors",
    "World": "warpworld.world",
    "check": "warpworld.checking",
    "compare": "warpworld.checking",
    "eager_phase": "warpworld.environment",
    "environment_names": "warpworld.environment",
    "export_policy": "warpworld.policies.exporting",
    "load_config": "warpworld.config",
    "load_policy": "warpworld.trainers.from_python.load_policy",
    "make": "warpworld.adapters.making",
    "masked_phase": "warpworld.environment",
    "register": "warpworld.environment",
    "rollout": "warpworld.trainers.from_python.rollout",
    "train": "warpworld.trainers.from_python.train",
}


if not TYPE_CHECKING:  # type checkers read the imports above, and report a name that is not among them

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        if name.startswith("_") or find_spec(f"warpworld.{name}") is None:
            raise AttributeError(f"module 'warpworld' has no attribute '{name}'")
        return import_module(f"warpworld.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def _register_with_gymnasium() -> None:
    from warpworld.adapters.registration import register_all

    register_all()


# Gymnasium has no other way to find the environments of an installed package.
when_imported("gymnasium", _register_with_gymnasium)
