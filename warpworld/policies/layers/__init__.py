"""Layers that networks are made of, recurrent cells, encoders, and the precision of their products."""

from warpworld.policies.layers.attention import EntityEncoder
from warpworld.policies.layers.bf16_products import reduces_to_bf16
from warpworld.policies.layers.cell_makers import make_cell
from warpworld.policies.layers.cells import GRU, LSTM, Cell, CellStack, MinGRU
from warpworld.policies.layers.dense import (
    HIDDEN_GAIN,
    POLICY_GAIN,
    VALUE_GAIN,
    Layers,
    Width,
    check_hidden,
    hidden_layers,
    linear,
    perceptron,
)
from warpworld.policies.layers.encoders import BranchEncoder, plain_convolutions
from warpworld.policies.layers.ensemble import Ensemble
from warpworld.policies.layers.linear_tanh import run_layers, tanh_apart
from warpworld.policies.layers.one_thread import one_torch_thread
from warpworld.policies.layers.precision import (
    FLOAT32,
    gradients_of,
    in_float32,
    is_reduced,
    products,
    widened,
)
from warpworld.policies.layers.residual import ResidualBlock, residual_convolutions
from warpworld.policies.layers.transformer import Transformer

__all__ = [
    "FLOAT32",
    "GRU",
    "HIDDEN_GAIN",
    "LSTM",
    "POLICY_GAIN",
    "VALUE_GAIN",
    "BranchEncoder",
    "Cell",
    "CellStack",
    "Ensemble",
    "EntityEncoder",
    "Layers",
    "MinGRU",
    "ResidualBlock",
    "Transformer",
    "Width",
    "check_hidden",
    "gradients_of",
    "hidden_layers",
    "in_float32",
    "is_reduced",
    "linear",
    "make_cell",
    "one_torch_thread",
    "perceptron",
    "plain_convolutions",
    "products",
    "reduces_to_bf16",
    "residual_convolutions",
    "run_layers",
    "tanh_apart",
    "widened",
]
