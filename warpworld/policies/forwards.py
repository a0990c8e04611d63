"""Protocols of what runs a packaged model in place of torch; ``warpworld.policies.fused`` has all of them."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class Forwards(Protocol):
    """Forwards of an actor and a critic, without gradient, from float32 to float32."""

    def outputs(self, observations: Tensor) -> Tensor:
        """The actor's outputs: (..., features) -> (..., outputs)."""

    def value(self, observations: Tensor) -> Tensor:
        """The critic's values: (..., features) -> (...)."""


class RecurrentForwards(Protocol):
    """Forwards of networks with a memory, without gradient, from float32 to float32."""

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Advance one step: (..., features), (..., state size) -> outputs (..., outputs), values (...), next state."""

    def replay(self, observations: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """T steps of S agents.

        Args:
            observations: (T, S, features).
            state: (S, state size), before the first step.
            starts: (T, S) bool, where the state is zeroed before the step.

        Returns:
            Outputs (T, S, outputs) and values (T, S).
        """


class CentralForwards(Protocol):
    """Forwards of an actor with a memory and of a critic of other inputs, without gradient, from float32 to float32."""

    def value(self, inputs: Tensor) -> Tensor:
        """Values of a critic without a memory: (..., numbers) -> (...)."""

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Advance the actor by one step, as ``RecurrentForwards.step``; values are 0."""

    def critic_step(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Advance a critic with a memory by one step: (..., numbers), (..., state size) -> values (...), next state."""

    def replay(
        self, observations: Tensor, state: Tensor, starts: Tensor, critic_inputs: Tensor
    ) -> tuple[Tensor, Tensor]:
        """T steps of S agents, as ``RecurrentForwards.replay``.

        Args:
            observations: as there, like ``starts``.
            state: (S, state size) of the actor, and behind it that of a critic with a memory.
            starts: see there.
            critic_inputs: (T, S, numbers).
        """


class ValueForwards(Protocol):
    """Values of choices by a Q-network, with a gradient at the weights where one is asked for; all float32."""

    def outputs(self, observations: Tensor) -> Tensor:
        """Values: (..., features) -> (..., choices)."""

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Advance one step, as ``RecurrentForwards.step`` without a critic: values of choices, zeros, next state."""

    def walk(self, observations: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """T steps of S agents, as ``RecurrentForwards.replay``: values (T, S, choices), and the state after them."""
