"""Recordings of the policies while they learn, every ``saving.record_every`` iterations."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from warpworld.config import recorder
from warpworld.errors import LoggerError, said
from warpworld.trainers.state import generators_kept

if TYPE_CHECKING:
    from warpworld.config import RunConfig
    from warpworld.policies import Policy
    from warpworld.runs import Run
    from warpworld.world import World

logger = logging.getLogger(__name__)


class Recordings:
    """Writes replays into the run folder. They are played in a world of their own, by copies of the policies.

    Nothing that the run computes depends on them. Where one fails, training continues without it.

    Args:
        config: the run's settings.
        policies: as evaluations and checkpoints have them, by name.
        world: in which they learn.
    """

    def __init__(self, config: RunConfig, policies: Mapping[str, Policy | None], world: World) -> None:
        self._config, self._policies, self._world = config, policies, world

    def is_due(self, iteration: int, is_last: bool) -> bool:
        """Whether an iteration is followed by a recording."""
        every = self._config.saving.record_every
        return every is not None and (iteration % every == 0 or is_last)

    def take(self, iteration: int, env_steps: int, run: Run | None) -> LoggerError | None:
        """Record the policies as they are now.

        Args:
            iteration: iterations done.
            env_steps: env steps done.
            run: an open run folder; None where another process writes it, and then nothing is recorded.

        Returns:
            The failure of a logger that was given the picture; None without one.
        """
        if run is None:
            return None
        weights = {name: policy.state_dict() for name, policy in self._policies.items() if policy is not None}
        state = {"policies": weights, "layout": self._world.data.layout()}
        picture = run.recorded.picture(iteration) if run.shows_pictures else None
        try:
            with generators_kept(self._world):
                recorder()(self._config, state, iteration, run.recorded.page(iteration), picture)
            if picture is not None:
                run.show(picture, iteration, env_steps)
        except LoggerError as error:
            return error
        except Exception as error:  # an environment's draw() is a user's code and may raise anything
            logger.warning("no replay of iteration %s: %s", f"{iteration:,}", said(error))
        return None
