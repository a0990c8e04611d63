"""An iteration as a GPU would be asked for it, carried out without one."""

from __future__ import annotations

import torch

from warpworld.cli.profile.launch_nodes import moved_once
from warpworld.cli.profile.nodes import NodeLog, Nodes
from warpworld.cli.profile.parts import record_iteration
from warpworld.cli.profile.planned_backend import PlannedBackend, planned
from warpworld.config import RunConfig, endless
from warpworld.policies import FLOAT32, products, tanh_apart
from warpworld.trainers import Trainer


def planned_nodes(config: RunConfig, warm_up: int) -> Nodes:
    """The nodes of a rollout and of each policy's update.

    Args:
        config: of a run, which is planned at its own sizes.
        warm_up: iterations before, in which graphs are made.

    Raises:
        WarpworldError: it cannot be trained on cuda.
    """
    changes = {"device": PlannedBackend.name, "overlap": False}
    config = config.model_copy(update={"trainer": config.trainer.model_copy(update=changes)})
    log = NodeLog()
    # products and layers as on a GPU, on which kernels in their place depend; bfloat16 is the host's own
    of_gpu = products("tf32" if config.trainer.precision == "tf32" else FLOAT32, torch.device("cuda"))
    with planned(log) as backends, log, of_gpu, tanh_apart():
        trainer = Trainer(endless(config))
        try:
            for backend in backends:
                backend.once |= moved_once(trainer.world)
            record_iteration(trainer, log, warm_up)
        finally:
            trainer.world.close()
    return log.of_parts()
