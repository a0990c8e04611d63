"""Gymnasium's vector environments, which reset ended envs in one of three ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.environment import Group
from warpworld.environment.spaces import space_actions
from warpworld.errors import DeclarationError, StoreError
from warpworld.external.envs import Observations, Outcome
from warpworld.external.spaces import stored_space

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

AGENT = "agent"  # the group of the one agent that each env has


class VectorEnvs:
    """A vector environment that resets ended envs in the same step, and hands out their final observations.

    Args:
        envs: the vector environment.
    """

    requested: tuple[str, ...] = ()

    def __init__(self, envs: VectorEnv) -> None:
        self._envs = envs
        observation, action = stored_space(envs.single_observation_space), stored_space(envs.single_action_space)
        self.groups: tuple[Group, ...] = (Group(AGENT, 1, observation, action),)
        self._ended = np.zeros(envs.num_envs, np.bool_)  # in the last step
        self._now: Any = None  # what the envs show; those that ended, of their new episodes

    def reset(self, seed: int) -> Observations:
        """See ``Envs``."""
        self._now, _ = self._envs.reset(seed=seed)
        return of_agent(self._now)

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """See ``Envs``."""
        native = space_actions(self._envs.single_action_space, actions[AGENT][:, 0])
        self._now, rewards, terminated, truncated, infos = self._envs.step(native)
        self._ended, last = terminated | truncated, self._now
        if self._ended.any():
            last = _replaced(last, np.flatnonzero(self._ended), infos["final_obs"])
        return Outcome(of_agent(last), np.asarray(rewards)[:, None], terminated, truncated)

    def begin(self, envs: np.ndarray) -> Observations:
        """See ``Envs``: those that ended have begun already."""
        self._restart(envs & ~self._ended)
        return of_agent(self._now)

    def _restart(self, envs: np.ndarray) -> None:
        if envs.any():
            self._now, _ = self._envs.reset(options={"reset_mask": envs})

    def close(self) -> None:
        """See ``Envs``."""
        self._envs.close()


class WaitingVectorEnvs(VectorEnvs):
    """A vector environment that resets envs only where its caller asks for it."""

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """See ``Envs``."""
        native = space_actions(self._envs.single_action_space, actions[AGENT][:, 0])
        self._now, rewards, terminated, truncated, _ = self._envs.step(native)
        return Outcome(of_agent(self._now), np.asarray(rewards)[:, None], terminated, truncated)


class NextStepVectorEnvs(VectorEnvs):
    """A vector environment that resets ended envs in the next step, in which it ignores their actions.

    No agent takes part in that step: the mask keeps it from learners, so that no transition leads from one episode into
    the next.
    """

    requested: tuple[str, ...] = ("agent_mask",)

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """See ``Envs``."""
        native = space_actions(self._envs.single_action_space, actions[AGENT][:, 0])
        only_reset = self._ended
        self._now, rewards, terminated, truncated, _ = self._envs.step(native)
        self._ended = terminated | truncated
        paid = np.where(only_reset, 0.0, rewards)
        return Outcome(of_agent(self._now), paid[:, None], terminated, truncated, ~only_reset[:, None])

    def _restart(self, envs: np.ndarray) -> None:
        if envs.any():
            raise StoreError(
                f"external: env {np.flatnonzero(envs)[0]} has not ended, and {type(self._envs).__name__} resets envs "
                "in the step after their end only"
            )


def of_mode(envs: VectorEnv) -> VectorEnvs:
    """The vector environment behind the contract of ``Envs``, by the autoreset mode that its metadata states."""
    mode = envs.metadata.get("autoreset_mode")
    name = getattr(mode, "name", str(mode))
    kinds = {"SAME_STEP": VectorEnvs, "NEXT_STEP": NextStepVectorEnvs, "DISABLED": WaitingVectorEnvs}
    if name not in kinds:
        raise DeclarationError(
            f"external: {type(envs).__name__} has metadata['autoreset_mode']={mode!r}, expected one of Gymnasium's "
            "AutoresetMode"
        )
    return kinds[name](envs)


def of_agent(observations: Any) -> Observations:
    """The observations of one agent an env, with the dimension of agents."""
    if isinstance(observations, Mapping):
        return {AGENT: {key: np.asarray(part)[:, None] for key, part in observations.items()}}
    return {AGENT: np.asarray(observations)[:, None]}


def _replaced(observations: Any, envs: np.ndarray, finals: Any) -> Any:
    """A copy with the final observations of some envs; ``finals`` has one for each env, or none where it is None."""
    if isinstance(observations, Mapping):
        parts = {key: [final[key] for final in np.asarray(finals, dtype=object)[envs]] for key in observations}
        return {key: _written(observations[key], envs, np.stack(parts[key])) for key in observations}
    return _written(observations, envs, np.stack([finals[env] for env in envs]))


def _written(values: np.ndarray, envs: np.ndarray, rows: np.ndarray) -> np.ndarray:
    copy = np.array(values)
    copy[envs] = rows
    return copy
