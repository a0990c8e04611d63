"""Trajectories that a rollout recorded of one group, and copies of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

# records of envs at one moment; all others have a row for each step in front
_OF_ENVS = ("next_observations", "first_state", "first_cut", "next_state", "next_critic_inputs")


@dataclass(frozen=True)
class Finals:
    """Final observations of a group's agents in truncated episodes: k of them, one for each env and row.

    Where CUDA graphs are captured there are places for the most that are possible; of those that are not in use the row
    is the one behind the last, and ``placed`` leaves them out.

    Attributes:
        observations: (k, n, entries), rows, see ``ObservationRows``.
        rows: (k,) int64, rows of the rollout.
        envs: (k,) int64.
        states: (k, n, state size) float32, what was remembered then by what values them; None where nothing was.
        critic_inputs: (k, n, numbers) float32, what the group's critic reads; None where that is the observations.
    """

    observations: Tensor
    rows: Tensor
    envs: Tensor
    states: Tensor | None
    critic_inputs: Tensor | None

    def taken(self, recorded: Tensor) -> Tensor:
        """Values at their rows and envs: (T, num_envs, ...) -> (k, ...), anything for places not in use."""
        return recorded[self.rows.clamp(max=len(recorded) - 1), self.envs]

    def placed(self, found: Tensor, num_rows: int, num_envs: int, place: Tensor | None = None) -> Tensor:
        """Place one entry (k, ...) of each final step at its row and env: (num_rows, num_envs, ...), 0 elsewhere.

        A ``place`` of a row more, (num_rows + 1, num_envs, ...), is written to, and keeps what it holds elsewhere.
        """
        everywhere = found.new_zeros(num_rows + 1, num_envs, *found.shape[1:]) if place is None else place
        everywhere[self.rows, self.envs] = found.to(everywhere.dtype)
        return everywhere[:num_rows]

    def of_envs(self, envs: range) -> Finals:
        """Final observations of some envs, which are numbered from 0 then."""
        own = ((self.envs >= envs.start) & (self.envs < envs.stop)).nonzero().squeeze(-1)
        return Finals(
            observations=self.observations[own],
            rows=self.rows[own],
            envs=self.envs[own] - envs.start,
            states=None if self.states is None else self.states[own],
            critic_inputs=None if self.critic_inputs is None else self.critic_inputs[own],
        )


@dataclass(frozen=True)
class Trajectories:
    """One group's part of a rollout, T rows of n agents: views of the store, except ``truncated`` and ``counted``.

    Attributes:
        observations: (T, num_envs, n, entries), rows: float32, or uint8 for bytes.
        actions: (T, num_envs, n, heads) int32, or (T, num_envs, n, dimensions) float32 as drawn.
        log_probs: (T, num_envs, n) float32.
        rewards: (T, num_envs, n) float32.
        terminated: (T, num_envs) bool; an env that was truncated in the same step counts as terminated.
        truncated: (T, num_envs) bool; False where the env terminated.
        agent_terminated: (T, num_envs, n) bool, or None if no agent's part ends before its env's episode.
        agent_truncated: (T, num_envs, n) bool, or None if no agent's part is cut before; then the next row holds what
            the agent observed last.
        mask: (T, num_envs, n) bool, False for rows in which an agent takes no part; None where all do.
        counted: (T, num_envs, n) bool, False for rows that are not learnt from: those, and those that an opponent
            played; None if all count.
        action_masks: (T, num_envs, n, choices) bool, False for choices that were forbidden; None where none ever is.
        next_observations: (num_envs, n, entries), rows, what is observed after the last step.
        finals: of episodes that were truncated.
        first_state: (num_envs, n, state size) float32, agents' states before the first step, and behind them those of a
            critic with a memory of its own; like the next three, None without memory.
        first_cut: (num_envs, n) bool, whose part was cut in the step before the first; None also if none is.
        next_state: (num_envs, n, state size) float32, the states after the last step of what values the next one.
        values: (T, num_envs, n) float32, the values of their recurrent policy's critic when it acted.
        critic_inputs: (T, num_envs, n, numbers) float32, what the group's critic reads; None where that is the
            observations.
        next_critic_inputs: (num_envs, n, numbers) float32, the same after the last step.
    """

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    rewards: Tensor
    terminated: Tensor
    truncated: Tensor
    agent_terminated: Tensor | None
    agent_truncated: Tensor | None
    mask: Tensor | None
    counted: Tensor | None
    action_masks: Tensor | None
    next_observations: Tensor
    finals: Finals
    first_state: Tensor | None = None
    first_cut: Tensor | None = None
    next_state: Tensor | None = None
    values: Tensor | None = None
    critic_inputs: Tensor | None = None
    next_critic_inputs: Tensor | None = None

    @property
    def counted_rewards(self) -> Tensor:
        """The rewards, 0 where an agent takes no part: (T, num_envs, n) float32."""
        return self.rewards if self.mask is None else self.rewards.where(self.mask, 0.0)

    def of_envs(self, envs: range) -> Trajectories:
        """The records of some envs, as copies."""
        own: dict[str, object] = {"finals": self.finals.of_envs(envs)}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                part = slice(envs.start, envs.stop)
                rows = value[part] if field.name in _OF_ENVS else value[:, part]
                own[field.name] = rows.contiguous()
        return dataclasses.replace(self, **own)  # type: ignore[arg-type]


Record = TypeVar("Record", Trajectories, Finals)


class TakenTrajectories:
    """Copies of the trajectories of some groups, in the same memory for each rollout.

    Attributes:
        trajectories: of the rollout that was taken last; empty before the first.
    """

    def __init__(self) -> None:
        self.trajectories: list[Trajectories] = []
        self._memory: dict[tuple[int, str], Tensor] = {}

    def take(self, seen: Sequence[Trajectories]) -> None:
        """Copy the trajectories of a rollout over those of the one before."""
        self.trajectories = [self._copied(number, each) for number, each in enumerate(seen)]

    def _copied(self, number: int, record: Record, prefix: str = "") -> Record:
        copies: dict[str, object] = {}
        for field in dataclasses.fields(record):
            value = getattr(record, field.name)
            if isinstance(value, Finals):
                copies[field.name] = self._copied(number, value, f"{field.name}.")
            elif isinstance(value, Tensor):
                copies[field.name] = self._copy((number, prefix + field.name), value)
        return dataclasses.replace(record, **copies)  # type: ignore[arg-type]

    def _copy(self, place: tuple[int, str], tensor: Tensor) -> Tensor:
        memory = self._memory.get(place)
        if memory is None or memory.shape != tensor.shape:
            memory = self._memory[place] = torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
        return memory.copy_(tensor)
