"""Gymnasium's vector environments, which reset ended envs in one of three ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.adapters.external.agents import VectorMasks, single_group
from warpworld.adapters.external.calls import Calling, Observations, Outcome, quietly, row_of
from warpworld.adapters.external.forms import ObservationForm, shown
from warpworld.adapters.external.results import RESET, Place, results, step_of
from warpworld.adapters.external.states import check_lists, fill, of_an_env, put, taken
from warpworld.adapters.external.vector_states import VectorStates
from warpworld.environment import Group
from warpworld.errors import DeclarationError, StoreError

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

AGENT = "agent"  # the group of the one agent that each env has


class VectorEnvs:
    """A vector environment that resets ended envs in the same step, and hands out their final observations.

    Args:
        envs: the vector environment.
        where: library and environment, for messages.
    """

    requested: tuple[str, ...] = ()

    def __init__(self, envs: VectorEnv, where: str = "external") -> None:
        self._envs, self._where = envs, where
        self._all = np.arange(envs.num_envs)
        self._form = ObservationForm(envs.single_observation_space, envs.single_action_space, where, AGENT)
        self._masks = VectorMasks(self._form, self._form.action, envs.num_envs, where)
        self._states = VectorStates(envs, where)
        self.stateless = self._states.stateless
        self._ended = np.zeros(envs.num_envs, np.bool_)  # in the last step
        self._now: dict[str, np.ndarray] = {}  # what the envs show; those that ended, of their new episodes

    @property
    def groups(self) -> tuple[Group, ...]:
        """One group of one agent."""
        return (single_group(AGENT, 1, self._form, self._masks.action),)

    @property
    def action_mask(self) -> np.ndarray | None:
        """Masks for the observations that were handed out last."""
        return self._masks.last

    def reset(self, seed: int) -> Observations:
        """Begin the first episode of every env."""
        with Calling(self._where, "reset"), quietly(self._envs):
            given = self._envs.reset(seed=seed)
        self._look(given)
        if self._masks.there_are:
            self.requested = (*type(self).requested, "action_mask")
        return of_agent(self._now)

    def _look(self, given: Any) -> None:
        """Take what a reset returned."""
        observations, infos = results(given, RESET, f"{self._where}: reset()")
        self._now = self._parts(observations, "reset()")
        self._masks.begin(observations, infos)

    def _parts(self, observations: Any, call: str = "step()") -> dict[str, np.ndarray]:
        return self._form.parts(observations, Place(self._where, call=call, envs=self._all))

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """A step of every env."""
        observations, rewards, terminated, truncated, infos = self._stepped(actions)
        self._now, self._ended = self._parts(observations), terminated | truncated
        self._masks.step(observations, infos)
        ended = np.flatnonzero(self._ended)
        if not ended.size:
            return Outcome(of_agent(self._now), rewards, terminated, truncated)
        if not isinstance(infos, Mapping) or "final_obs" not in infos:
            raise DeclarationError(
                f"{self._where}: envs ended in step(), and infos lack 'final_obs', which autoreset_mode SAME_STEP needs"
            )
        finals = [row_of(infos["final_obs"], int(env), f"{self._where}: infos['final_obs']") for env in ended]
        self._masks.final(ended, finals, infos.get("final_info", {}))
        return Outcome(of_agent(self._with_finals(ended, finals)), rewards, terminated, truncated)

    def _stepped(self, actions: Mapping[str, np.ndarray]) -> tuple[Any, ...]:
        """Observations, rewards (num_envs, 1), ends (num_envs,) bool, and infos."""
        native = self._masks.action.native(actions[AGENT][:, 0])
        with Calling(self._where, "step", action=native), quietly(self._envs):
            given = self._envs.step(native)
        return step_of(given, self._envs.num_envs, self._where)

    def _with_finals(self, ended: np.ndarray, finals: list[Any]) -> dict[str, np.ndarray]:
        """Observations of all envs, with the final observations of those that ended."""
        rows = [
            self._form.parts(final, Place(self._where, int(env), call="final_obs of step()"))
            for env, final in zip(ended, finals, strict=True)
        ]
        last = {key: np.array(part) for key, part in self._now.items()}
        for key, part in last.items():
            part[ended] = np.stack([row[key] for row in rows])
        return last

    def begin(self, envs: np.ndarray) -> Observations:
        """First observations of new episodes; envs that ended have begun already."""
        self._restart(envs & ~self._ended)
        self._masks.show_begun()
        return of_agent(self._now)

    def _restart(self, envs: np.ndarray) -> None:
        if envs.any():
            with Calling(self._where, "reset"), quietly(self._envs):
                given = self._envs.reset(options={"reset_mask": envs})
            self._look(given)

    def save(self, envs: Sequence[int]) -> list[bytes]:
        """Take the states of envs, with what is shown of them."""
        return [
            taken(
                [
                    state,
                    {key: np.array(part[env]) for key, part in self._now.items()},
                    bool(self._ended[env]),
                    self._masks.rows(env),
                    self._states.flags(env),
                ]
            )
            for env, state in zip(envs, self._states.take(envs), strict=True)
        ]

    def load(self, envs: Sequence[int], states: Sequence[bytes]) -> None:
        """Put states back."""
        rows = []
        for env, state in zip(envs, states, strict=True):
            with of_an_env(env):
                rows.append(put(None, state))
                check_lists(rows[-1:], (bytes, dict, bool, list, list))
        self._states.put(envs, [row[0] for row in rows])
        self._now = {key: np.array(part) for key, part in self._now.items()}
        self._ended = np.array(self._ended)
        for env, (_, seen, ended, legal, flags) in zip(envs, rows, strict=True):
            fill(self._now, env, seen)
            self._ended[env] = ended
            self._masks.set_rows(env, legal)
            self._states.set_flags(env, flags)

    def close(self) -> None:
        """Let go of the envs."""
        with Calling(self._where, "close"), quietly(self._envs):
            self._envs.close()


class WaitingVectorEnvs(VectorEnvs):
    """A vector environment that resets envs only where its caller asks for it."""

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """A step of every env."""
        observations, rewards, terminated, truncated, infos = self._stepped(actions)
        self._now = self._parts(observations)
        self._masks.step(observations, infos)
        return Outcome(of_agent(self._now), rewards, terminated, truncated)


class NextStepVectorEnvs(VectorEnvs):
    """A vector environment that resets ended envs in the next step, in which it ignores their actions.

    No agent takes part in that step: the mask keeps it from learners, so that no transition leads from one episode into
    the next.
    """

    requested: tuple[str, ...] = ("agent_mask",)
    _has_stepped = False  # since all were reset

    def reset(self, seed: int) -> Observations:
        """Begin the first episode of every env."""
        self._has_stepped = False
        return super().reset(seed)

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """A step of every env."""
        self._has_stepped, only_reset = True, self._ended
        observations, rewards, terminated, truncated, infos = self._stepped(actions)
        self._now, self._ended = self._parts(observations), terminated | truncated
        self._masks.step(observations, infos)
        paid = np.where(only_reset[:, None], 0.0, rewards)
        return Outcome(of_agent(self._now), paid, terminated, truncated, ~only_reset[:, None])

    def load(self, envs: Sequence[int], states: Sequence[bytes]) -> None:
        """Put states back."""
        super().load(envs, states)
        self._has_stepped = True

    def _restart(self, envs: np.ndarray) -> None:
        if envs.any() and self._has_stepped:
            raise StoreError(
                f"external: env {np.flatnonzero(envs)[0]} has not ended, and {type(self._envs).__name__} resets envs "
                "in the step after their end only"
            )


def of_mode(envs: VectorEnv, where: str = "external") -> VectorEnvs:
    """The vector environment behind the contract of ``Envs``, by the autoreset mode that its metadata states.

    Args:
        envs: the vector environment.
        where: library and environment, for messages.
    """
    mode = envs.metadata.get("autoreset_mode")
    name = getattr(mode, "name", str(mode))
    kinds = {"SAME_STEP": VectorEnvs, "NEXT_STEP": NextStepVectorEnvs, "DISABLED": WaitingVectorEnvs}
    if name not in kinds:
        raise DeclarationError(
            f"external: {type(envs).__name__} has metadata['autoreset_mode']={mode!r}, expected one of Gymnasium's "
            "AutoresetMode"
        )
    return kinds[name](envs, where)


def of_agent(parts: Mapping[str, np.ndarray]) -> Observations:
    """The observations of one agent an env, with the dimension of agents."""
    return {AGENT: shown({key: part[:, None] for key, part in parts.items()})}
