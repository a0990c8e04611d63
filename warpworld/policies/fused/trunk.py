"""A policy's networks as the C++ side takes them: layers that read and write columns of slabs.

A slab has a row for each sample, in whole vectors of floats. What torch keeps in another order, such as the channels of
a convolution, lies where a product reads it without a copy: position by position, channels side by side.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from torch import Tensor, nn

from warpworld.policies import GRU, LSTM, MinGRU
from warpworld.policies.fused.modules import Activation

_INT, _POINTER = ctypes.c_int, ctypes.c_void_p
PADDING = -1

Weights = tuple[Tensor, Tensor]  # a matrix, perhaps of more dimensions, and a bias


class Kind(IntEnum):
    """Enum of layer.hpp."""

    LINEAR = 0
    CONVOLUTION = 1
    GATED_MEAN = 2
    LSTM = 3
    GRU = 4


# ---- structs of layer.hpp, trunk.hpp and head.hpp --------------------------------------------------------------------
class _SlabShape(ctypes.Structure):
    _fields_ = [(name, _INT) for name in ("columns", "activation", "is_summed", "is_kept")]


class _LayerShape(ctypes.Structure):
    _fields_ = [
        *((name, _INT) for name in ("kind", "activation", "in_pairs", "in_slab", "in_column", "inputs")),
        *((name, _INT) for name in ("out_slab", "out_column", "outputs", "positions", "across")),
        *((name, _INT) for name in ("step_across", "step_down", "piece", "piece_step")),
        *((name, _INT) for name in ("before_slab", "extra_slab", "state_column", "size")),
        *((name, _INT) for name in ("weight_rows", "weight_columns")),
        *((name, _POINTER) for name in ("rows", "columns")),
    ]


class TrunkShape(ctypes.Structure):
    """Struct of trunk.hpp."""

    _fields_ = [
        *(("num_slabs", _INT), ("num_layers", _INT), ("slabs", _POINTER), ("layers", _POINTER)),
        *(("features", _INT), ("gathered", _POINTER), ("of_bytes", _POINTER), ("first_bytes", _POINTER)),
        ("top", _INT),
        *(("state_parts", _INT), ("part_size", _INT), ("steps_multiply", _INT)),
    ]


class HeadShape(ctypes.Structure):
    """Struct of head.hpp."""

    _fields_ = [
        *((name, _INT) for name in ("trunk", "inputs", "outputs", "weight_columns")),
        *((name, _POINTER) for name in ("rows", "columns")),
    ]


# ---- where numbers lie -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class View:
    """View of some columns of a slab.

    Attributes:
        slab: its number.
        first: of the columns.
        holds: (columns,) int32, which of the numbers, in torch's order, lies in each column; ``PADDING`` for zeros.
        grid: height and width of a picture, whose pixels lie line by line, each with its channels; (1, 1) of a vector,
            and a height of 1 for pixels in one line.
    """

    slab: int
    first: int
    holds: np.ndarray
    grid: tuple[int, int] = (1, 1)

    @property
    def positions(self) -> int:
        """Number of pixels."""
        return self.grid[0] * self.grid[1]

    @property
    def width(self) -> int:
        """Columns of a pixel."""
        return len(self.holds) // self.positions


@dataclass(frozen=True)
class Window:
    """Patches of a picture that a convolution reads; fields of layer.hpp's LayerShape, in columns."""

    across: int = 1
    step_across: int = 0
    step_down: int = 0
    piece: int = 0
    piece_step: int = 0


_WHOLE = Window()  # of what is no convolution


@dataclass
class _Slab:
    columns: int
    activation: Activation = Activation.PLAIN
    readers: int = 0  # times that something reads some of it: more than one adds up gradients
    is_kept: bool = False


@dataclass
class _Layer:
    kind: Kind
    activation: Activation
    read: View
    written: View
    outputs: int
    rows: np.ndarray
    columns: np.ndarray
    weights: Weights | None = None
    window: Window = _WHOLE
    before_slab: int = 0
    extra_slab: int = 0
    state_column: int = 0
    size: int = 0

    def shape(self, in_pairs: bool) -> _LayerShape:
        matrix = None if self.weights is None else self.weights[0]
        return _LayerShape(
            kind=self.kind,
            activation=self.activation,
            in_pairs=in_pairs and matrix is not None,
            in_slab=self.read.slab,
            in_column=self.read.first,
            inputs=len(self.columns),
            out_slab=self.written.slab,
            out_column=self.written.first,
            outputs=self.outputs,
            positions=self.written.positions,
            **vars(self.window),
            before_slab=self.before_slab,
            extra_slab=self.extra_slab,
            state_column=self.state_column,
            size=self.size,
            weight_rows=0 if matrix is None else len(matrix),
            weight_columns=0 if matrix is None else matrix[0].numel(),
            rows=self.rows.ctypes.data,
            columns=self.columns.ctypes.data,
        )


@dataclass(frozen=True)
class BytesOfFeatures:
    """Places of features in rows of bytes.

    Attributes:
        say: (features,) int32, what the bytes of each say, see gathering.hpp.
        first: (features,) int32, the first of its bytes; PADDING for none.
        row_bytes: of a whole row.
    """

    say: np.ndarray
    first: np.ndarray
    row_bytes: int

    def at(self, features: np.ndarray) -> BytesOfFeatures:
        """Places of some of the features; PADDING among them stands for none."""
        is_none = features < 0
        say, first = np.where(is_none, 0, self.say[features]), np.where(is_none, PADDING, self.first[features])
        return BytesOfFeatures(say.astype(np.int32), first.astype(np.int32), self.row_bytes)


@dataclass
class Trunk:
    """Layers in order, from an observation to what heads read.

    Attributes:
        features: numbers in an observation.
        lanes: floats of a vector.
        in_pairs: layers multiply pairs of bfloat16.
        of_bytes: how features lie in rows of bytes; None where observations are never bytes.
        weights: of the layers that have some, in their order.
        state_parts, part_size: numbers in an agent's state, and how they are made up.
    """

    features: int
    lanes: int
    in_pairs: bool = False
    of_bytes: BytesOfFeatures | None = None
    weights: list[Weights] = field(default_factory=list)
    state_parts: int = 0
    part_size: int = 0
    steps_multiply: bool = False

    def __post_init__(self) -> None:
        self._slabs, self._layers = [_Slab(self.features)], list[_Layer]()
        self._observed: np.ndarray | None = None
        self._of_bytes: BytesOfFeatures | None = None
        self.top = self.observation()

    @property
    def state_size(self) -> int:
        """Numbers in an agent's state."""
        return self.state_parts * self.part_size

    @property
    def num_layers(self) -> int:
        """Cells and layers before the heads."""
        return len(self._layers)

    @property
    def num_slabs(self) -> int:
        """The observations' included."""
        return len(self._slabs)

    @property
    def num_products(self) -> int:
        """Multiplications of a sample in its layers, forward."""
        return sum(len(layer.columns) * layer.outputs * layer.written.positions for layer in self._layers)

    @property
    def num_pixels(self) -> int:
        """Numbers of a sample's pixels between convolutions, and of their gradients."""
        convolutions = [layer for layer in self._layers if layer.kind is Kind.CONVOLUTION]
        return sum(2 * len(layer.written.holds) for layer in convolutions)

    def rounded(self, count: int) -> int:
        """Round a number of columns up to whole vectors."""
        return -(-count // self.lanes) * self.lanes

    # ---- from an observation -----------------------------------------------------------------------------------------
    def observation(self) -> View:
        """View of all features in their order."""
        return View(0, 0, np.arange(self.features, dtype=np.int32))

    def parts(self, shapes: Sequence[tuple[int, ...]]) -> list[View]:
        """The parts of an observation; what has channels and pixels lies pixel by pixel."""
        views, order, first, column = [], list[np.ndarray](), 0, 0
        for shape in shapes:
            holds, grid = self._pixels(shape) if len(shape) > 1 else (np.arange(shape[0], dtype=np.int32), (1, 1))
            views.append(View(0, column, holds, grid))
            order.append(np.where(holds < 0, PADDING, first + holds).astype(np.int32))
            first, column = first + math.prod(shape), column + len(holds)
        gathered = np.concatenate(order)
        if not np.array_equal(gathered, np.arange(self.features)):
            self._observed, self._slabs[0].columns = gathered, len(gathered)
        return views

    def _pixels(self, shape: tuple[int, ...]) -> tuple[np.ndarray, tuple[int, int]]:
        """Numbers of a picture pixel by pixel, and its grid; with pairs, each pixel has an even number of columns."""
        channels, height, width = shape[0], 1 if len(shape) == 2 else shape[1], shape[-1]
        numbers = np.arange(math.prod(shape), dtype=np.int32).reshape(channels, height * width).T
        odd = [(0, 0), (0, channels % 2 if self.in_pairs else 0)]
        return np.pad(numbers, odd, constant_values=PADDING).ravel(), (height, width)

    # ---- layers ------------------------------------------------------------------------------------------------------
    def slab(self, columns: int, activation: Activation = Activation.PLAIN, is_kept: bool = False) -> int:
        """A new one; returns its number."""
        self._slabs.append(_Slab(columns, activation, is_kept=is_kept))
        return len(self._slabs) - 1

    def linear(
        self, layer: nn.Linear, read: View, activation: Activation, into: tuple[int, int] | None = None, groups: int = 1
    ) -> View:
        """A linear layer.

        Args:
            layer: in float32, with a bias.
            read: what it reads.
            activation: behind it.
            into: slab and first column that it writes to; None makes a slab.
            groups: parts of its outputs that each begin with a whole vector.
        """
        return self._linear((layer.weight, layer.bias), read, activation, into, groups)

    def _linear(
        self, weights: Weights, read: View, activation: Activation, into: tuple[int, int] | None, groups: int
    ) -> View:
        rows = self.padded(len(weights[0]), groups)
        slab, first = into or (self.slab(len(rows), activation), 0)
        written = View(slab, first, rows)
        self._add(Kind.LINEAR, activation, read, written, rows, read.holds, weights)
        return written

    def convolution(self, layer: nn.Conv1d | nn.Conv2d, read: View, activation: Activation) -> View:
        """A convolution without padding, of one dimension or two."""
        (down, across), (stride_down, stride_across) = _two(layer.kernel_size), _two(layer.stride)
        (height, width), pixel = read.grid, read.width
        grid = (height - down) // stride_down + 1, (width - across) // stride_across + 1
        # weights that the columns of a patch meet, (lines, pixels of a line, columns of a pixel)
        channel = np.where(np.arange(pixel) < layer.in_channels, np.arange(pixel), PADDING)
        place = np.arange(down)[:, None, None] * across + np.arange(across)[None, :, None]
        columns = np.where(channel < 0, PADDING, channel * down * across + place).astype(np.int32).ravel()
        # numbers of torch's flattened output, as they are written
        rows, positions = self.padded(layer.out_channels), grid[0] * grid[1]
        at_positions = np.arange(positions)[:, None]
        holds = np.where(rows[None, :] < 0, PADDING, rows[None, :] * positions + at_positions).astype(np.int32).ravel()
        # the layer
        written = View(self.slab(len(holds), activation), 0, holds, grid)
        window = Window(
            across=grid[1],
            step_across=stride_across * pixel,
            step_down=stride_down * width * pixel,
            piece=across * pixel,
            piece_step=width * pixel,
        )
        assert layer.bias is not None
        self._add(Kind.CONVOLUTION, activation, read, written, rows, columns, (layer.weight, layer.bias), window)
        self._slabs[read.slab].readers += 1  # patches overlap, or leave something out: gradients are added to zeros
        return written

    def _add(
        self,
        kind: Kind,
        activation: Activation,
        read: View,
        written: View,
        rows: np.ndarray,
        columns: np.ndarray,
        weights: Weights,
        window: Window = _WHOLE,
    ) -> None:
        self._slabs[read.slab].readers += 1
        columns = np.ascontiguousarray(columns)
        self._layers.append(_Layer(kind, activation, read, written, len(rows), rows, columns, weights, window))
        self.weights.append(weights)

    def padded(self, count: int, groups: int = 1) -> np.ndarray:
        """Numbers of ``count`` outputs in parts of whole vectors: (columns,) int32."""
        size = count // groups
        parts = np.full((groups, self.rounded(size)), PADDING, np.int32)
        parts[:, :size] = np.arange(count, dtype=np.int32).reshape(groups, size)
        return parts.ravel()

    # ---- cells -------------------------------------------------------------------------------------------------------
    def cell(self, cell: nn.Module, read: View) -> View:
        """A recurrent cell, one of those of ``cells.py``."""
        if isinstance(cell, MinGRU):
            for number, layer in enumerate(cell.layers):
                gates = self.linear(layer, read, Activation.PLAIN, groups=2)  # type: ignore[arg-type]
                read = self._recurrent(Kind.GATED_MEAN, gates, cell.size, number, None)
            self.state_parts, self.part_size = len(cell.layers), cell.size
            return read
        assert isinstance(cell, LSTM | GRU)
        kind, gates_count = (Kind.LSTM, 4) if isinstance(cell, LSTM) else (Kind.GRU, 3)
        gates = self._linear((cell.weight_ih, cell.bias_ih), read, Activation.PLAIN, None, gates_count)
        self.state_parts, self.part_size = 2 if kind is Kind.LSTM else 1, cell.size
        self.steps_multiply = True
        return self._recurrent(kind, gates, cell.size, 0, (cell.weight_hh, cell.bias_hh))

    def _recurrent(self, kind: Kind, gates: View, size: int, part: int, weights: Weights | None) -> View:
        columns = self.rounded(size)
        holds = self.padded(size)
        written = View(self.slab(columns, is_kept=True), 0, holds)
        before, extra = (0, 0) if weights is None else (self.slab(columns), self.slab(columns))
        self._layers.append(
            _Layer(
                *(kind, Activation.PLAIN, gates, written, len(gates.holds), gates.holds, holds, weights, _WHOLE),
                *(before, extra, part * size, size),
            )
        )
        if weights is not None:
            self.weights.append(weights)
        return written

    # ---- what C++ reads ----------------------------------------------------------------------------------------------
    def finish(self, top: View, heads: int) -> None:
        """Say what heads read, and how many of them do."""
        self._slabs[top.slab].readers += heads
        if top.slab == 0:  # whole vectors, of whatever order
            order = np.arange(self.features, dtype=np.int32) if self._observed is None else self._observed
            self._observed = np.pad(order, (0, self.rounded(len(order)) - len(order)), constant_values=PADDING)
            top = View(0, 0, self._observed)
            self._slabs[0].columns = len(self._observed)
        self.top = top
        if self.of_bytes is not None:
            if self._observed is None:
                self._observed = np.arange(self.features, dtype=np.int32)
            self._of_bytes = self.of_bytes.at(self._observed)

    def shape(self) -> TrunkShape:
        """Structure for ``fused_make``; the memory that it points to lives as long as this object."""
        slabs = [
            _SlabShape(slab.columns, slab.activation, slab.readers > 1, slab.is_kept or slab.readers > 1)
            for slab in self._slabs
        ]
        self._native = (
            (_SlabShape * len(slabs))(*slabs),
            (_LayerShape * len(self._layers))(*(layer.shape(self.in_pairs) for layer in self._layers)),
        )
        return TrunkShape(
            num_slabs=len(slabs),
            num_layers=len(self._layers),
            slabs=ctypes.addressof(self._native[0]),
            layers=ctypes.addressof(self._native[1]),
            features=self.features,
            gathered=None if self._observed is None else self._observed.ctypes.data,
            of_bytes=None if self._of_bytes is None else self._of_bytes.say.ctypes.data,
            first_bytes=None if self._of_bytes is None else self._of_bytes.first.ctypes.data,
            top=self.top.slab,
            state_parts=self.state_parts,
            part_size=self.part_size,
            steps_multiply=self.steps_multiply,
        )


def _two(sizes: tuple[int, ...]) -> tuple[int, int]:
    """Sizes of a convolution in height and width, from those of one dimension or of two."""
    return (1, sizes[0]) if len(sizes) == 1 else (sizes[0], sizes[1])
