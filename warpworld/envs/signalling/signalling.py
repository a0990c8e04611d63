"""Agree on signals: the smallest task in which two agents have to find a language, with values known exactly.

Source: the signalling game of Lewis: "Convention" (1969), with equally likely states. The best code earns
min(states, signals) / states for both. A receiver that ignores signals earns 1 / states. With three states or more
there are equilibria in between, in which two states share a signal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Mark, Rectangles, Segments
from warpworld.environment import Array, Environment, Group, Range, register


@register("signalling")
class Signalling(Environment):
    """A sender sees a state and sends a signal; a receiver sees the signal and names the state: 1 for both if right."""

    source = "signalling.cu"

    @dataclass(frozen=True)
    class Params:
        """Parameters of signalling."""

        states: Annotated[int, Range(2, 64)] = 3  # equally likely
        signals: Annotated[int, Range(2, 64)] = 3  # that the sender can choose from

    def groups(self) -> Sequence[Group]:
        """The sender, and the receiver."""
        states, signals = self.params.states, self.params.signals
        sent, named = (
            tuple(f"{what} {k + 1}" for k in range(n)) for what, n in (("signal", signals), ("state", states))
        )
        return [
            Group("sender", 1, Box(0.0, 1.0, (states,)), Discrete(signals), own_arrays=True, action_names=sent),
            Group("receiver", 1, Box(0.0, 1.0, (signals,)), Discrete(states), own_arrays=True, action_names=named),
        ]

    def arrays(self) -> Sequence[Array]:
        """State that is to be named, and the signal that was sent."""
        states, signals = (0, self.params.states - 1), (-1, self.params.signals - 1)
        return [
            Array("state", "int32", per="env", bounds=states, doc="that is to be named"),
            Array("signal", "int32", per="env", bounds=signals, doc="that was sent, -1 before"),
        ]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """States on the left, signals in the middle, what the receiver may name on the right; lines join the chosen."""
        states, signals = self.params.states, self.params.signals
        y, between = _rows(states), _rows(signals)
        state, signal = int(arrays["state"]), int(arrays["signal"])
        marks: list[Mark] = [
            Discs(-1.5, y, 0.25, fill="ground", outline="grid", line_width=0.04),
            Rectangles(-0.2, between - 0.2, 0.4, 0.4, fill="ground", outline="grid", line_width=0.04),
            Discs(1.5, y, 0.25, fill="ground", outline="grid", line_width=0.04),
        ]
        if signal >= 0:
            marks.append(Segments(-1.5, y[state], 0.0, between[signal], outline="sender", line_width=0.06))
            marks.append(Rectangles(-0.2, between[signal] - 0.2, 0.4, 0.4, fill="ink"))
        if arrays["terminated"]:
            named = int(arrays["actions_receiver"][0, 0])
            marks.append(Segments(0.0, between[signal], 1.5, y[named], outline="receiver", line_width=0.06))
            marks.append(Discs(1.5, y[named], 0.25, fill="receiver" if named == state else "alarm"))
        marks.append(Discs(-1.5, y[state], 0.25, fill="sender"))
        half = 0.35 * max(states, signals) + 0.2
        return Drawing((-2.0, -half, 2.0, half), marks, seconds=0.5)


def _rows(count: int) -> np.ndarray:
    """Heights of things in a column, the first on top."""
    return 0.7 * ((count - 1) / 2 - np.arange(count))
