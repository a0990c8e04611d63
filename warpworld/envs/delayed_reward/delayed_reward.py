"""Name cues and be rewarded some steps later: credit that has to reach an earlier action, with values known exactly.

Each right answer earns 1, so that the optimum is ``decisions``, and random actions earn ``decisions / choices``. A
reward that arrives while another cue is shown belongs to an earlier one. Learners that bootstrap after one step, as
``dqn`` does, find the action that earned it only where ``show_pending`` makes observations Markov.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Mark, Rectangles
from warpworld.environment import Array, Environment, Group, Range, register


@register("delayed_reward")
class DelayedReward(Environment):
    """Name the cue that is shown, which pays 1; but each reward arrives ``delay`` steps later."""

    source = "delayed_reward.cu"

    @dataclass(frozen=True)
    class Params:
        """Parameters of delayed_reward."""

        choices: Annotated[int, Range(2, 64)] = 3  # cues, of which each decision shows one
        decisions: Annotated[int, Range(1, 10**6)] = 10  # steps that show a cue
        delay: Annotated[int, Range(0, 1024)] = 5  # steps from a decision to its reward
        show_pending: bool = False  # whether the agent sees the rewards that are on their way

    def groups(self) -> Sequence[Group]:
        """One agent, which sees the cue as a one among zeros."""
        params = self.params
        seen = params.choices + (params.delay if params.show_pending else 0)
        names = tuple(f"cue {cue + 1}" for cue in range(params.choices))
        return [Group("agent", 1, Box(0.0, 1.0, (seen,)), Discrete(params.choices), action_names=names)]

    def arrays(self) -> Sequence[Array]:
        """The cue, and the rewards on their way."""
        cues, places = (-1, self.params.choices - 1), (max(self.params.delay, 1),)
        return [
            Array("cue", "int32", per="env", bounds=cues, doc="that is to be named, -1 after the last one"),
            Array("pending", "uint8", places, per="env", bounds=(0, 1), doc="rewards on their way"),
        ]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The cues in a row, the one that is shown full; below them the rewards on their way, the next on the left."""
        choices, delay, cue = self.params.choices, self.params.delay, int(arrays["cue"])
        places = np.arange(choices) - (choices - 1) / 2
        marks: list[Mark] = [Discs(places, 1.0, 0.35, fill="ground", outline="grid", line_width=0.04)]
        if cue >= 0:
            marks.append(Discs(places[cue], 1.0, 0.35, fill="agent"))
        if delay:
            next_first = arrays["pending"][(int(arrays["timestep"]) + np.arange(delay)) % delay]
            left, size = np.linspace(-1.5, 1.5, delay + 1)[:-1], 3.0 / delay
            marks.append(Rectangles(left, -0.25, size, 0.5, fill="ground", outline="grid", line_width=0.04))
            if next_first.any():
                marks.append(Rectangles(left[next_first > 0], -0.25, size, 0.5, fill="ink"))
        half = max(2.0, choices / 2 + 0.2)
        return Drawing((-half, -0.6, half, 1.7), marks, seconds=0.3)
