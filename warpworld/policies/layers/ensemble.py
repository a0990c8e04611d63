"""Several perceptrons of the same shape as one batched network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from warpworld.policies.layers.dense import HIDDEN_GAIN, VALUE_GAIN, linear
from warpworld.policies.layers.precision import in_float32


class Ensemble(nn.Module):
    """``count`` perceptrons that read the same and give a number each; a layer of all of them is one product.

    Weights are orthogonal with gain sqrt(2), but 1 in the last layer; biases are zero.

    Attributes:
        weights: of each layer (count, inputs, outputs).
        biases: of each layer (count, 1, outputs).

    Args:
        count: of perceptrons.
        widths: what they read, and of each hidden layer.
        activation: kind of what lies between the layers.
    """

    def __init__(self, count: int, widths: Sequence[int], activation: type[nn.Module] = nn.ReLU) -> None:
        super().__init__()
        self.activation = activation()
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for inputs, outputs in pairwise((*widths, 1)):
            gain = HIDDEN_GAIN if len(self.weights) < len(widths) - 1 else VALUE_GAIN
            drawn = [linear(inputs, outputs, gain).weight.detach().t() for _ in range(count)]
            self.weights.append(nn.Parameter(torch.stack(drawn)))
            self.biases.append(nn.Parameter(torch.zeros(count, 1, outputs)))

    def forward(self, inputs: Tensor) -> Tensor:
        """(rows, widths[0]) float32 -> (count, rows) float32."""
        *hidden, (last, bias) = zip(self.weights, self.biases, strict=True)
        x = inputs.expand(last.shape[0], -1, -1)
        for weight, offset in hidden:
            x = self.activation(torch.baddbmm(offset, x, weight))
        return in_float32(lambda hidden: torch.baddbmm(bias, hidden, last), x).squeeze(-1)
