"""A batch of windows of teams, as a replay gives it to an algorithm whose policy remembers."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from warpworld.trainers.replay.windows import Windows


@dataclass(frozen=True)
class TeamWindows(Windows):
    """B windows of successive steps, each of all N agents of an env: views of the store, but for the weights.

    What ``Windows`` has per agent is (..., B, N, ...) here: observations, states, starts, actions and masks. Returns,
    discounts, what follows, what is learnt and weights are the team's.

    Attributes:
        takes_part: (T, B, N) bool, who takes part in the trained steps.
        next_takes_part: (T + n, B, N) bool, who takes part in these and the next steps where they are what follows.
        team_states: (T + n, B, numbers) float32, the state that the environment declares; None where it is not kept.
    """

    takes_part: Tensor
    next_takes_part: Tensor
    team_states: Tensor | None
