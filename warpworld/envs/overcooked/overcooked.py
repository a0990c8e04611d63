"""Overcooked: two cooks in a kitchen that is too small for both.

Source: Carroll et al.: "On the Utility of Learning about Humans for Human-AI Coordination" (2019), in the form of
JaxMARL's Overcooked (Rutherford et al. 2023), whose rules, rewards and layers of observations these are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Mark, Rectangles, Segments
from warpworld.environment import Array, Environment, Group, Range, register
from warpworld.envs.overcooked.layouts import KINDS, Layout, layout_of

NUM_LAYERS = 22
EMPTY_POT, FULL_POT = 23, 20
TOWARDS = np.array([[0, -1], [0, 1], [1, 0], [-1, 0]])  # up, down, right, left: columns and rows
ACTIONS = ("up", "down", "right", "left", "nothing", "interact")
KEYS = ("up", "down", "right", "left", "", "space")
CELL_COLOURS = {"X": "#b9a58a", "P": "#5b5f66", "O": "#b9a58a", "D": "#b9a58a", "S": "#7fb069"}
ONION, PLATE, SOUP = "#e3b23c", "#ffffff", "#c8553d"
ITEMS = (None, ONION, PLATE, SOUP)  # colours of what is held or lies on a counter


@register("overcooked")
class Overcooked(Environment):
    """Two cooks fill a pot with three onions, wait, plate the soup and serve it; each soup pays both of them 20.

    Actions: 0 up, 1 down, 2 right, 3 left, 4 nothing, 5 interact with what is in front. ``shaping``, an array that
    schedules can set, is the part of small rewards that counts: 3 for an onion in a pot, 3 for a plate that is of use,
    5 for a soup taken from its pot. ``random_starts``, another such array, is the part of episodes that begin with
    cooks on any cells that they can reach, anything in their hands and pots at any stage; ``start`` sets it at first.
    ``lapses``, a third, is the probability that a cook stops in a step; it then does nothing, whatever it chooses, for
    10 steps in the mean.
    """

    source = "overcooked.cu"
    file_params = ("layout",)

    @dataclass(frozen=True)
    class Params:
        """Parameters of overcooked."""

        layout: str = "cramped_room"  # or asymm_advantages, coord_ring, forced_coord, counter_circuit, a text file
        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 400  # steps until the time limit
        start: Literal["fixed", "random"] = "fixed"  # or random: sets random_starts to 1 at first

    def __init__(self, **params: Any) -> None:
        """Check the parameters and read the layout."""
        super().__init__(**params)
        self.layout: Layout = layout_of(self.params.layout)

    def groups(self) -> Sequence[Group]:
        """Two cooks, each of whom sees the whole kitchen."""
        seen = Box(0, 255, (NUM_LAYERS, *self.layout.cells.shape), np.uint8)
        return [Group("cook", 2, observation=seen, action=Discrete(6), action_names=ACTIONS, action_keys=KEYS)]

    def arrays(self) -> Sequence[Array]:
        """Arrays of the kitchen."""
        cells = self.layout.cells
        anywhere = (0, cells.size - 1)
        return [
            Array("place", "int32", bounds=anywhere, doc="cell of a cook, row by row"),
            Array("facing", "int32", bounds=(0, 3), doc="up, down, right, left"),
            Array("held", "uint8", bounds=(0, 3), doc="nothing, an onion, a plate, a soup"),
            Array("idle", "bool", initial=False, on_reset="initial", doc="whether a cook lapses"),
            Array("contents", "uint8", (cells.size,), per="env", bounds=(0, EMPTY_POT), doc="items; stages of pots"),
            Array(
                "soups", "int32", per="env", initial=0, on_reset="initial", metric="last", doc="served in the episode"
            ),
            Array(
                "cells", "uint8", (cells.size,), per="world", initial=cells.ravel(), read_only=True, doc="their kinds"
            ),
            Array(
                "pots", "int32", (self._pots.size,), per="world", initial=self._pots, bounds=anywhere, read_only=True
            ),
            Array("layers", "uint8", self._layers.shape, per="world", initial=self._layers, read_only=True),
            Array("starts", "int32", (2,), per="world", initial=self.layout.starts, bounds=anywhere, read_only=True),
            Array(
                "parts",
                "int32",
                (cells.size,),
                per="world",
                initial=self.layout.parts.ravel(),
                read_only=True,
                doc="a number for each stretch of connected floor, 0 elsewhere",
            ),
            Array("shaping", "float32", per="world", initial=0.0, doc="part of small rewards that counts"),
            Array(
                "lapses",
                "float32",
                per="world",
                initial=0.0,
                bounds=(0, 1),
                doc="probability that a cook stops in a step, and then does nothing for 10 steps in the mean",
            ),
            Array(
                "random_starts",
                "float32",
                per="world",
                initial=float(self.params.start == "random"),
                bounds=(0, 1),
                doc="probability that an episode begins with cooks, hands and pots that are drawn",
            ),
        ]

    @property
    def _pots(self) -> np.ndarray:
        """The cells that are pots."""
        return np.flatnonzero(self.layout.cells == KINDS.index("P")).astype(np.int32)

    @property
    def _layers(self) -> np.ndarray:
        """(22, cells) uint8: what is seen of an empty kitchen without its cooks."""
        layers = np.zeros((NUM_LAYERS, self.layout.cells.size), np.uint8)
        for layer, letter in zip(range(10, 15), "PXODS", strict=True):
            layers[layer] = np.where(self.layout.cells.ravel() == KINDS.index(letter), 255, 0)
        return layers

    def constants(self) -> Mapping[str, Any]:
        """Offsets of the four next cells, and the number of pots."""
        width = self.layout.cells.shape[1]
        return {"OFFSETS": np.array([-width, width, 1, -1], dtype=np.int32), "NUM_POTS": np.int32(self._pots.size)}

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The kitchen from above; a pot shows its onions or its soup, a cook what it holds in front of it."""
        rows, columns = self.layout.cells.shape
        marks: list[Mark] = [Rectangles(0, 0, columns, rows, fill="ground")]
        contents = arrays["contents"].reshape(rows, columns)
        for number, letter in enumerate(KINDS[1:], 1):
            y, x = np.nonzero(self.layout.cells == number)
            marks.append(Rectangles(x, y, 1, 1, fill=CELL_COLOURS[letter], outline="paper", line_width=0.04))
            middle = x + 0.5, y + 0.5
            if letter == "O":
                marks.append(Discs(*middle, 0.28, fill=ONION))
            if letter == "D":
                marks.append(Discs(*middle, 0.28, fill=PLATE))
            if letter == "P":
                marks += _pots(*middle, contents[y, x].astype(int))
            if letter == "X":
                marks += [
                    Discs(middle[0][contents[y, x] == item], middle[1][contents[y, x] == item], 0.2, fill=ITEMS[item])
                    for item in (1, 2, 3)
                ]
        places = arrays["place"] % columns + 0.5, arrays["place"] // columns + 0.5
        dx, dy = 0.3 * TOWARDS[arrays["facing"]].T
        marks.append(Discs(*places, 0.36, fill="cook", outline="paper", line_width=0.05))
        marks.append(Segments(*places, places[0] + dx, places[1] + dy, outline="ink", line_width=0.08))
        for cook, item in enumerate(arrays["held"]):
            if item:
                marks.append(Discs(places[0][cook] + dx[cook], places[1][cook] + dy[cook], 0.18, fill=ITEMS[item]))
        return Drawing((-0.2, rows + 0.2, columns + 0.2, -0.2), marks, seconds=0.1, places=places)


def _pots(x: np.ndarray, y: np.ndarray, stages: np.ndarray) -> list[Mark]:
    """Onions that are in, or the soup: the readier, the larger."""
    onions = np.where(stages >= FULL_POT, EMPTY_POT - stages, 0)
    marks: list[Mark] = [Discs(x, y, 0.34, fill="ink")]
    for number in range(3):
        there = onions > number
        marks.append(Discs(x[there] - 0.16 + 0.16 * number, y[there], 0.09, fill=ONION))
    soup = stages < FULL_POT
    marks.append(Discs(x[soup], y[soup], 0.32 - 0.01 * stages[soup], fill=SOUP))
    return marks
