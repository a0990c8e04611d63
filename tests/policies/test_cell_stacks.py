"""LSTMs and GRUs of several layers against torch.nn.LSTM and torch.nn.GRU in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from warpworld.config import ModelConfig
from warpworld.policies.layers import CellStack, make_cell

WIDTH, SIZE, STEPS, AGENTS = 6, 5, 9, 4
ORACLES: dict[str, type[nn.RNNBase]] = {"lstm": nn.LSTM, "gru": nn.GRU}


def cell_of(name: str, layers: int) -> Any:
    torch.manual_seed(0)
    return make_cell(ModelConfig(recurrent=name, recurrent_size=SIZE, recurrent_layers=layers), WIDTH)


class Oracle:
    """torch's own layers with the weights of a cell, one step after the other."""

    def __init__(self, name: str, cell: CellStack) -> None:
        self.layers = ORACLES[name](WIDTH, SIZE, num_layers=len(cell.layers)).double()
        self.numbers = (len(cell.layers), -1, SIZE)  # of an agent's state, layer by layer, hidden state first
        for key, weight in self.by_layer(cell).items():
            getattr(self.layers, key).data.copy_(weight.detach())

    def by_layer(self, cell: CellStack) -> dict[str, Tensor]:
        """A cell's weights by torch's names."""
        return {
            f"{key}_l{number}": weight
            for number, layer in enumerate(cell.layers)
            for key, weight in layer.named_parameters()
        }

    def unroll(self, encoded: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        hidden = []
        for seen, begins in zip(encoded, starts, strict=True):
            state = torch.where(begins[:, None], 0.0, state)
            parts = [part.contiguous() for part in state.unflatten(-1, self.numbers).permute(2, 1, 0, 3)]
            said, after = self.layers(seen[None], tuple(parts) if len(parts) == 2 else parts[0])
            state = torch.stack(after if isinstance(after, tuple) else (after,)).permute(2, 1, 0, 3).flatten(1)
            hidden.append(said[0])
        return torch.stack(hidden), state


def by_steps(cell: Any, encoded: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    hidden = []
    for seen, begins in zip(encoded, starts, strict=True):
        said, state = cell.step(seen, state.masked_fill(begins[:, None], 0.0))
        hidden.append(said)
    return torch.stack(hidden), state


@pytest.mark.parametrize("layers", [2, 3])
@pytest.mark.parametrize("name", ORACLES)
def test_values_and_gradients_are_those_of_torchs_layers(name: str, layers: int) -> None:
    cell = cell_of(name, layers).double()
    for parameter in cell.parameters():
        nn.init.normal_(parameter, std=0.5)
    oracle = Oracle(name, cell)
    encoded = torch.randn(STEPS, AGENTS, WIDTH, dtype=torch.float64)
    state = torch.randn(AGENTS, cell.state_size, dtype=torch.float64)
    starts = torch.rand(STEPS, AGENTS) < 0.2
    starts[0], starts[:, 3] = False, False
    starts[4, 1] = True  # in the middle, of one agent alone
    weights = torch.randn(STEPS, AGENTS, SIZE, dtype=torch.float64), torch.randn_like(state)

    def found(unroll: Any, parameters: dict[str, Tensor]) -> list[Tensor]:
        """Hidden states, the last state, and the gradient of a loss of both at all that they are made of."""
        read = encoded.clone().requires_grad_(), state.clone().requires_grad_()
        made = unroll(*read, starts)
        loss = sum((each * weight).sum() for each, weight in zip(made, weights, strict=True))
        return [*made, *torch.autograd.grad(loss, [*read, *parameters.values()])]

    own = oracle.by_layer(cell)
    expected = found(oracle.unroll, {key: getattr(oracle.layers, key) for key in own})
    for unroll in (cell.unroll, lambda *read: by_steps(cell, *read)):
        torch.testing.assert_close(found(unroll, own), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ORACLES)
def test_each_layer_is_drawn_as_one_alone_is(name: str) -> None:
    cell = cell_of(name, 3)
    drawn = [weight for key, weight in cell.named_parameters() if "weight" in key]
    assert len({weight.sum().item() for weight in drawn}) == 6
    for weight in drawn:
        torch.testing.assert_close(weight.t() @ weight, torch.eye(weight.shape[1]))
    assert not any(bias.any() for key, bias in cell.named_parameters() if "bias" in key)


@pytest.mark.parametrize("name", ORACLES)
def test_one_layer_is_no_stack(name: str) -> None:
    """Its weights keep the names and the bits that checkpoints have."""
    assert list(cell_of(name, 1).state_dict()) == ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
