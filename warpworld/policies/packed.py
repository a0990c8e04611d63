"""A policy's actor as one row of numbers, which perceptrons.cu evaluates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from typing_extensions import TypeIs

from warpworld.policies.distributions import Categorical, Gaussian
from warpworld.policies.networks import MLP
from warpworld.policies.policy import Policy

MAX_HIDDEN, MAX_WIDTH, MAX_FEATURES = 2, 128, 512
_ACTIVATIONS = {nn.Tanh: "tanh", nn.ReLU: "relu"}


@dataclass(frozen=True)
class Perceptron:
    """Shape of an actor's network; policies of one such shape differ in their numbers only.

    A row holds, layer by layer, the weights as (inputs, units) and the biases; then, where there are such, mean and
    scale of the normaliser and the logarithms of a Gaussian's deviations. Up to three numbers that mean nothing follow,
    so that each row begins at a multiple of 16 bytes.

    Attributes:
        widths: of the observation, of at most two hidden layers, of the outputs.
        activation: of the hidden layers: "tanh" or "relu".
        normalises: whether the policy has a normaliser.
        in_box: whether its distribution is a Gaussian, of a deviation for each output.
    """

    widths: tuple[int, ...]
    activation: str
    normalises: bool
    in_box: bool

    @property
    def row_size(self) -> int:
        """Numbers from the beginning of a row to that of the next one."""
        return -(-self.size // 4) * 4

    @property
    def size(self) -> int:
        """Number of values of a policy."""
        layers = sum((inputs + 1) * units for inputs, units in pairwise(self.widths))
        return layers + 2 * self.normalises * self.widths[0] + self.in_box * self.widths[-1]

    @property
    def hidden(self) -> tuple[int, int]:
        """Widths of the first and the second hidden layer, 0 of one that there is not."""
        first, second = (*self.widths[1:-1], 0, 0)[:2]
        return first, second


def perceptron_of(policy: Policy) -> Perceptron | str:
    """Shape of a policy's actor, or the reason why the kernel cannot evaluate it."""
    model, distribution = policy.model, policy.distribution
    # a kind of policy that the kernel has
    if type(policy) is not Policy:
        return "it remembers"
    if type(model) is not MLP:
        return f"its model is a {type(model).__name__}, not the plain MLP"
    if policy.preprocessing is not None:
        return "it does not see float32 alone"
    if type(distribution) not in (Categorical, Gaussian):
        return f"it acts by a {type(distribution).__name__}"
    # layers and activations of its actor
    layers = _layers_of(model.actor_layers)
    if isinstance(layers, str):
        return f"its actor {layers}"
    # sizes that fit the kernel
    widths, activation = layers
    if len(widths) > MAX_HIDDEN + 2 or max(widths[1:]) > MAX_WIDTH or widths[0] > MAX_FEATURES:
        return (
            f"its actor has widths {' - '.join(map(str, widths))}; the kernel takes up to {MAX_FEATURES} inputs and "
            f"{MAX_HIDDEN} hidden layers of up to {MAX_WIDTH}, with as many outputs"
        )
    return Perceptron(widths, activation, policy.normaliser is not None, isinstance(distribution, Gaussian))


def critic_of(policy: Policy) -> tuple[tuple[int, ...], str] | None:
    """Widths and activation of a policy's critic, if its actor is a ``Perceptron``; None if it is not such layers."""
    assert isinstance(policy.model, MLP)
    layers = _layers_of(policy.model.critic_layers)
    return None if isinstance(layers, str) else layers


def _layers_of(network: nn.Sequential) -> tuple[tuple[int, ...], str] | str:
    """Widths and activation of linear layers in float32, or what the network has or is instead."""
    linear = [layer for layer in list(network)[::2] if is_plain(layer)]
    between = list(network)[1::2]
    kinds = {type(layer) for layer in between}
    is_regular = len(kinds) <= 1 and kinds <= _ACTIVATIONS.keys() and len(linear) == len(between) + 1
    if not is_regular:
        return "is not linear layers in float32 with tanh or relu between each two"
    if any(module._forward_hooks or module._forward_pre_hooks for module in network.modules()):
        return "has forward hooks"
    widths = (linear[0].in_features, *(layer.out_features for layer in linear))
    return widths, _ACTIVATIONS[kinds.pop()] if kinds else "tanh"


def is_plain(layer: nn.Module) -> TypeIs[nn.Linear]:
    """Whether a layer is linear with biases, in float32."""
    return type(layer) is nn.Linear and layer.bias is not None and layer.weight.dtype == torch.float32


class Packer:
    """Writes the rows of some policies of one shape, in two operations for all of them.

    Args:
        shape: of the policies.
        rows: (policies, shape.row_size) float32, written to; on the policies' device.
    """

    def __init__(self, shape: Perceptron, rows: Tensor) -> None:
        self._rows, self._flat = rows, torch.empty(len(rows), shape.size, device=rows.device)
        behind = torch.zeros(shape.row_size - shape.size, dtype=torch.int64)  # any number will do
        self._order = torch.cat([_transposed(shape), behind]).to(rows.device)

    def pack(self, policies: Sequence[Policy]) -> None:
        """Write the rows of policies as they are now, from the first row on; no more than there are rows."""
        flat = self._flat[: len(policies)]
        torch.cat([part.reshape(-1) for policy in policies for part in _parts(policy)], out=flat.view(-1))
        torch.index_select(flat, 1, self._order, out=self._rows[: len(policies)])


def _parts(policy: Policy) -> Iterator[Tensor]:
    """A policy's numbers in the order of a row, its weights as torch has them: (units, inputs)."""
    assert isinstance(policy.model, MLP)
    yield from (part.detach() for part in policy.model.actor_layers.parameters())
    if policy.normaliser is not None:
        yield policy.normaliser.mean.float()
        yield policy.normaliser.scale.float()
    if isinstance(policy.distribution, Gaussian):
        yield policy.distribution.log_std.detach()


def _transposed(shape: Perceptron) -> Tensor:
    """Place of each number of a row in ``_parts``: (size,) int64."""
    found, begun = list[Tensor](), 0
    for inputs, units in pairwise(shape.widths):
        weights = torch.arange(begun, begun + inputs * units)
        found.append(weights.view(units, inputs).t().flatten())
        begun += inputs * units
        found.append(torch.arange(begun, begun + units))
        begun += units
    return torch.cat([*found, torch.arange(begun, shape.size)])
