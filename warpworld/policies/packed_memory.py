"""Shape and numbers of the recurrent cell between the hidden layers and the outputs of a policy that remembers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor, nn

from warpworld.policies.layers import GRU, LSTM, Cell, CellStack, MinGRU
from warpworld.policies.networks import RecurrentActorAndCritic, RecurrentActorWithCritic
from warpworld.policies.recurrent import Recurrent, RecurrentNetwork, RecurrentPolicy

MAX_SIZE, MAX_LAYERS = 128, 4
_GATES = {"mingru": 2, "gru": 3, "lstm": 4}  # with candidates
_CELLS: dict[type, str] = {GRU: "gru", LSTM: "lstm"}
_MODELS = (Recurrent, RecurrentActorWithCritic, RecurrentActorAndCritic)


@dataclass(frozen=True)
class Memory:
    """Shape of a memory, and of the values that are read of it.

    Attributes:
        cell: "mingru", "gru" or "lstm".
        size: of a layer.
        num_layers: how many there are.
        has_value: whether a value is read of it, as the actions are.
        scales_values: whether that is in other units than those of reward.
    """

    cell: str
    size: int
    num_layers: int
    has_value: bool
    scales_values: bool

    @property
    def said(self) -> int:
        """Outputs of a layer's products, before its units' step."""
        return sum(units for _, units in self.products(0)) // self.num_layers

    def products(self, width: int) -> list[tuple[int, int]]:
        """Inputs and outputs of its layers' products, of which the first reads so many numbers.

        A layer of a GRU or an LSTM has two: of what it reads, and of its hidden state.
        """
        said, again = _GATES[self.cell] * self.size, self.cell != "mingru"
        reads = [width, *[self.size] * (self.num_layers - 1)]
        return [product for inputs in reads for product in [(inputs, said), *[(self.size, said)] * again]]


def memory_of(policy: RecurrentPolicy) -> Memory | str:
    """Shape of a policy's memory, or the reason why the kernel cannot step it."""
    model = policy.model
    if not isinstance(model, RecurrentNetwork) or type(model) not in _MODELS:
        return f"its model is a {type(model).__name__}, not an encoder, a memory and a linear head"
    # layers of a kind that the kernel has
    layers = _layers(model.cell)
    cell = "mingru" if isinstance(model.cell, MinGRU) else _CELLS.get(type(layers[0])) if layers else None
    if cell is None:
        return f"its memory is a {type(model.cell).__name__}"
    if len(layers) > MAX_LAYERS or model.cell.size > MAX_SIZE:
        widths = " - ".join([str(model.cell.size)] * len(layers))
        return f"its memory has widths {widths}; the kernel takes up to {MAX_LAYERS} layers of up to {MAX_SIZE}"
    has_value = isinstance(model, Recurrent)
    return Memory(cell, model.cell.size, len(layers), has_value, has_value and policy.value_scale is not None)


def memory_parts(model: RecurrentNetwork) -> Iterator[Tensor]:
    """Weights and biases of a model's memory in the order of ``Memory.products``, weights as torch has them."""
    for layer in _layers(model.cell):
        yield from _parts_of(layer)


def _layers(cell: Cell) -> list[nn.Module]:
    if isinstance(cell, MinGRU | CellStack):
        return list(cell.layers)
    return [cell] if isinstance(cell, nn.Module) and type(cell) in _CELLS else []


def _parts_of(layer: nn.Module) -> Iterator[Tensor]:
    if isinstance(layer, nn.Linear):
        yield from (layer.weight, layer.bias)
    elif isinstance(layer, nn.RNNCellBase):
        yield from (layer.weight_ih, layer.bias_ih, layer.weight_hh, layer.bias_hh)
