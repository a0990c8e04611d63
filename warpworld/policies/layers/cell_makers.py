"""Recurrent cells by the name that ``model.recurrent`` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torch import nn

from warpworld.policies.layers.cells import GRU, LSTM, CellStack, MinGRU
from warpworld.policies.layers.transformer import Transformer

if TYPE_CHECKING:
    from warpworld.config import ModelConfig

STEPPED_CELLS: dict[str, Callable[[int, int], nn.Module]] = {"lstm": LSTM, "gru": GRU}


def make_cell(model: ModelConfig, width: int) -> nn.Module:
    """The ``Cell`` behind an encoder of that width, as a model's settings ask for it.

    It is made on the CPU in float32, with weights from torch's global generator.
    """
    assert model.recurrent is not None
    size, num_layers = model.recurrent_size, model.recurrent_layers
    if model.recurrent == "transformer":
        return Transformer(width, size, num_layers, model.recurrent_heads, model.recurrent_window)
    if model.recurrent == "mingru":
        return MinGRU(width, size, num_layers)
    make = STEPPED_CELLS[model.recurrent]
    return make(width, size) if num_layers == 1 else CellStack(make, width, size, num_layers)
