"""Kernels for the way back through narrow layers on a GPU, see layer_backward.cu."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn

from warpworld.policies import Policy
from warpworld.trainers.collecting import TensorKernels, needs_of
from warpworld.world import World

SOURCE = Path(__file__).resolve().parent / "layer_backward.cu"
MOST_OUTPUTS, MOST_INPUTS = 64, 128  # of a layer: wider ones are torch's
LEAST_ROWS = 4096  # with fewer, a launch is what takes time
LANES, TILE = 128, 32  # threads of an env, and rows that they take at once
MOST_ENVS = 1024  # that work: each gives sums of its own
LEAST_ENVS = 128  # with fewer, most of a GPU's multiprocessors would have no block


def give_backward_kernels(policy: Policy, world: World) -> None:
    """Let kernels run the way back through a policy's layers with an activation behind, where they are narrow enough.

    What they give differs from torch's by the rounding of float32.

    Args:
        policy: on the world's device; torch runs the layers of a copy.
        world: that is not sealed.
    """
    made, kinds = dict[tuple[int, int, bool], LayerKernels](), dict[nn.Linear, set[bool]]()
    sequences = [module for module in policy.modules() if isinstance(module, nn.Sequential)]
    for layer, behind in (pair for sequence in sequences for pair in pairwise(sequence)):
        if type(layer) is nn.Linear and layer.bias is not None and type(behind) in (nn.Tanh, nn.ReLU):
            kinds.setdefault(layer, set()).add(type(behind) is nn.Tanh)
    for layer, (is_tanh, *others) in kinds.items():
        if layer.out_features <= MOST_OUTPUTS and layer.in_features <= MOST_INPUTS and not others:
            key = layer.in_features, layer.out_features, is_tanh
            made[key] = made.get(key) or LayerKernels(world, *key)
            layer.backward_kernels = made[key]  # type: ignore[assignment]


class LayerKernels(TensorKernels):
    """The way back through a linear layer and its activation.

    Args:
        world: that is not sealed.
        inputs: numbers that the layer reads.
        outputs: numbers that it gives.
        is_tanh: whether the activation is tanh; else it is relu.
    """

    def __init__(self, world: World, inputs: int, outputs: int, is_tanh: bool) -> None:
        of_outputs = 8 if outputs > 32 else 4
        parts = -(-outputs // of_outputs)
        of_inputs = next(n for n in (1, 2, 4, 8) if parts * -(-inputs // n) <= LANES)
        sizes = {"INPUTS": inputs, "OUTPUTS": outputs, "OF_INPUTS": of_inputs, "OF_OUTPUTS": of_outputs}
        super().__init__(world, SOURCE, {**sizes, "TILE": TILE, "IS_TANH": is_tanh}, ["backward"], LANES)
        self._inputs, self._outputs = inputs, outputs

    def takes(self, gradient: Tensor) -> bool:
        """Implement ``LayerBackward``."""
        is_much = len(gradient) >= LEAST_ROWS and self._envs(len(gradient)) >= LEAST_ENVS
        return is_much and gradient.dtype == torch.float32 and self.is_here(gradient)

    def _envs(self, rows: int) -> int:
        return min(-(-rows // TILE), MOST_ENVS, self.num_envs)

    def __call__(
        self, gradient: Tensor, said: Tensor, x: Tensor, is_needed: bool
    ) -> tuple[Tensor | None, Tensor, Tensor]:
        """Implement ``LayerBackward``."""
        rows, weights = len(gradient), self._outputs * self._inputs
        envs = self._envs(rows)
        through = torch.empty_like(gradient) if is_needed else None
        sums = gradient.new_empty(envs, weights + self._outputs)
        addresses = [0 if each is None else each.data_ptr() for each in (gradient, said, x, through, sums)]
        flop = 2 * rows * weights * (1 + is_needed)
        needs = needs_of((gradient, said, x), (through, sums), flop)
        self.launch("backward", (), (*addresses, rows), envs, needs)
        found = sums.sum(0)
        return through, found[:weights].view(self._outputs, self._inputs), found[weights:]
