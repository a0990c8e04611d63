"""Results of some envs of a world, in the form in which EnvPool's protocol hands them out."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpworld.adapters.views import Batch, names_of_lives
from warpworld.world import World

Outcome = tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]


class Rows:
    """A world's envs as entries of a batch, agents along an axis where there are several.

    Attributes:
        batch: reads, writes and steps them.

    Args:
        world: is sealed.
        copies: as of ``Batch``; without them ``outcome`` is asked for by indices alone.
    """

    def __init__(self, world: World, copies: bool = True) -> None:
        self.batch = Batch(world, "rows" if world.num_agents == 1 else "axis", copies)
        self._elapsed = self.batch.arrays(["timestep"])
        self._lives = self.batch.arrays(names_of_lives(world))

    def outcome(self, some: slice | np.ndarray, ids: np.ndarray) -> Outcome:
        """Observations, rewards, terminated, truncated and infos.

        Args:
            some: which envs of the world.
            ids: the numbers that the infos give them.
        """
        batch, observations = self.batch, self.batch.observe()
        seen: Any = (
            {key: part[some] for key, part in observations.items()}
            if isinstance(observations, dict)
            else observations[some]
        )
        elapsed = self._elapsed()["timestep"][some]
        infos = {"env_id": ids.copy(), "elapsed_step": elapsed}
        for name, flags in self._lives().items():
            infos[name] = flags[some]
            infos[name][elapsed == 0] = name == "agent_mask"  # they are of a step, and none was made
        return seen, batch.rewards()[some], batch.terminated()[some], batch.truncated()[some], infos


def joined(outcomes: list[Outcome]) -> Outcome:
    """Outcomes one behind the other."""
    seen, rewards, terminated, truncated, infos = zip(*outcomes, strict=True)
    whole: Any = _joined(seen) if isinstance(seen[0], dict) else np.concatenate(seen)
    return (
        whole,
        np.concatenate(rewards),
        np.concatenate(terminated),
        np.concatenate(truncated),
        _joined(infos),
    )


def _joined(parts: tuple[dict[str, np.ndarray], ...]) -> dict[str, np.ndarray]:
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
