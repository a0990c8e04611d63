"""A World of one env as a ``gymnasium.Env``."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from warpworld.adapters.rules import PROTOCOLS, Copied, has_ended
from warpworld.adapters.vector import VectorEnv
from warpworld.adapters.views import as_batch
from warpworld.world import World


class Env(Copied, gymnasium.Env):
    """Gymnasium's Env of one env; it waits for ``reset`` after an episode. Several agents of one group become an axis.

    Attributes:
        world: what is stepped.

    Args:
        world: of one env, with ``autoreset="disabled"``.
        render_mode: "rgb_array" for ``render``.

    Raises:
        DeclarationError: the world has several envs or resets them itself, or its groups differ in their spaces.
    """

    def __init__(self, world: World, *, render_mode: str | None = None) -> None:
        PROTOCOLS["single"].check(world)
        self.world, self.render_mode = world, render_mode
        agents = "auto" if world.num_agents == 1 else "axis"
        self._batch, self._is_over = VectorEnv(world, agents=agents, render_mode=render_mode), False
        self.metadata = {key: value for key, value in self._batch.metadata.items() if key != "autoreset_mode"}
        self.observation_space = self._batch.single_observation_space
        self.action_space = self._space = self._batch.single_action_space  # callers may exchange the first

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a new episode; see VectorEnv.

        Raises:
            DeclarationError: the seed or an option is wrong.
        """
        observations, infos = self._batch.reset(seed=seed, options=options)
        if seed is not None:
            super().reset(seed=int(seed))
        self._is_over = False
        return first(observations), _infos(infos)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Make one step.

        Returns:
            Observation, reward, terminated, truncated and infos.

        Raises:
            StoreError: the action is illegal; the episode has ended, or none has begun; after ``close``.
        """
        if self._is_over and not self._batch.closed:
            has_ended()
        observations, rewards, terminated, truncated, infos = self._batch.step(as_batch(action, self._space))
        self._is_over = bool(terminated[0] or truncated[0])
        return first(observations), float(rewards[0]), bool(terminated[0]), bool(truncated[0]), _infos(infos)

    def render(self) -> np.ndarray:
        """A picture (height, width, 3) uint8 of the env's current state."""
        return self._batch.render()[0]

    def close(self) -> None:
        """Close the world."""
        self._batch.close()


def first(observations: Any) -> Any:
    """Take the first entry of a batch of observations."""
    if isinstance(observations, dict):
        return {key: part[0] for key, part in observations.items()}
    return observations[0]


def _infos(infos: dict[str, Any]) -> dict[str, Any]:
    return {key: value[0] for key, value in infos.items() if not key.startswith("_")}
