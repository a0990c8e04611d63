"""An iteration as a GPU would be asked for it, carried out without one."""

from __future__ import annotations

from warpworld.cli.profile.launch_nodes import moved_once
from warpworld.cli.profile.nodes import NodeLog, Nodes
from warpworld.cli.profile.parts import record_iteration
from warpworld.cli.profile.planned_backend import PlannedBackend, planned
from warpworld.config import RunConfig, endless
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
    with planned(log) as backends, log:
        trainer = Trainer(endless(config))
        try:
            for backend in backends:
                backend.once |= moved_once(trainer.world)
            record_iteration(trainer, log, warm_up)
        finally:
            trainer.world.close()
    return log.of_parts()
