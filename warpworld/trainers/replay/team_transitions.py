"""A batch of transitions of teams, as a replay gives it to an algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from warpworld.trainers.replay.transitions import Transitions


@dataclass(frozen=True)
class TeamTransitions(Transitions):
    """B transitions of n steps, each of all N agents of an env: views of the store.

    What ``Transitions`` has per agent is (B, N, ...) here: observations, actions, next observations and masks. Returns,
    discounts and weights are the team's.

    Attributes:
        takes_part: (B, N) bool, who took part in the first step.
        next_takes_part: (B, N) bool, who takes part in what follows.
        states: (B, state size) float32, the state that the environment declares; None where it is not kept.
        next_states: (B, state size) float32, the state that follows; anything where nothing follows.
    """

    takes_part: Tensor
    next_takes_part: Tensor
    states: Tensor | None
    next_states: Tensor | None
