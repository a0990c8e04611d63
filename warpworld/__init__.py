"""Multi-agent reinforcement learning on one device: environments as CUDA kernels, on a GPU or on a CPU."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names, when_imported
from warpworld.version import __version__ as __version__

if TYPE_CHECKING:
    from warpworld.adapters import make as make
    from warpworld.checking import Trace as Trace
    from warpworld.checking import check as check
    from warpworld.checking import compare as compare
    from warpworld.config import load_config as load_config
    from warpworld.environment import Array as Array
    from warpworld.environment import EntityBox as EntityBox
    from warpworld.environment import EntityList as EntityList
    from warpworld.environment import Environment as Environment
    from warpworld.environment import Group as Group
    from warpworld.environment import Kernel as Kernel
    from warpworld.environment import eager_phase as eager_phase
    from warpworld.environment import environment_names as environment_names
    from warpworld.environment import masked_phase as masked_phase
    from warpworld.environment import register as register
    from warpworld.errors import WarpworldError as WarpworldError
    from warpworld.policies.exporting import export_policy as export_policy
    from warpworld.runs import Run as Run
    from warpworld.trainers import Trainer as Trainer
    from warpworld.trainers.from_python import load_policy as load_policy
    from warpworld.trainers.from_python import play as play
    from warpworld.trainers.from_python import rollout as rollout
    from warpworld.trainers.from_python import train as train
    from warpworld.world import World as World
else:  # the command line starts without NumPy, Gymnasium and torch
    __getattr__, __dir__ = lazy_names(__name__)


def _register_with_gymnasium() -> None:
    from warpworld.adapters import register_all

    register_all()


# Gymnasium has no other way to find the environments of an installed package.
when_imported("gymnasium", _register_with_gymnasium)
