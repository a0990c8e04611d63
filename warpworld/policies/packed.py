"""A policy's actor, or its network with a memory, as one row of numbers, which perceptrons.cu evaluates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from typing_extensions import TypeIs

from warpworld.policies.distributions import Categorical, Gaussian
from warpworld.policies.networks import MLP
from warpworld.policies.packed_memory import Memory, memory_of, memory_parts
from warpworld.policies.policy import Policy
from warpworld.policies.recurrent import Recurrent, RecurrentNetwork, RecurrentPolicy

MAX_HIDDEN, MAX_WIDTH, MAX_FEATURES = 2, 128, 512
_ACTIVATIONS = {nn.Tanh: "tanh", nn.ReLU: "relu"}


@dataclass(frozen=True)
class Perceptron:
    """Shape of a network that acts; policies of one such shape differ in their numbers only.

    A row holds, layer by layer, the weights as (inputs, units) and the biases; then, where there are such, mean and
    scale of the normaliser, the logarithms of a Gaussian's deviations, and deviation and mean of the units of values.
    Up to three numbers that mean nothing follow, so that each row begins at a multiple of 16 bytes.

    Attributes:
        widths: of the observation, of at most two hidden layers, of the outputs.
        activation: of the hidden layers: "tanh" or "relu".
        normalises: whether the policy has a normaliser.
        in_box: whether its distribution is a Gaussian, of a deviation for each output.
        memory: what stands between the hidden layers and the outputs; None for nothing.
    """

    widths: tuple[int, ...]
    activation: str
    normalises: bool
    in_box: bool
    memory: Memory | None = None

    @property
    def row_size(self) -> int:
        """Numbers from the beginning of a row to that of the next one."""
        return -(-self.size // 4) * 4

    @property
    def size(self) -> int:
        """Number of values of a policy."""
        layers = sum((inputs + 1) * units for inputs, units in self.products)
        scales = self.memory is not None and self.memory.scales_values
        return layers + 2 * self.normalises * self.widths[0] + self.in_box * self.widths[-1] + 2 * scales

    @property
    def products(self) -> list[tuple[int, int]]:
        """Inputs and outputs of each product, in the order of a row."""
        memory = self.memory
        if memory is None:
            return list(pairwise(self.widths))
        *hidden, outputs = self.widths
        heads = (memory.size, outputs + memory.has_value)
        return [*pairwise(hidden), *memory.products(hidden[-1]), heads]

    @property
    def widest(self) -> int:
        """Outputs of its widest product."""
        return max(units for _, units in self.products)

    @property
    def most_at_once(self) -> int:
        """Numbers of an agent that one layer gives at most, before its units are known."""
        return max(self.widest, 0 if self.memory is None else self.memory.said)

    @property
    def hidden(self) -> tuple[int, int]:
        """Widths of the first and the second hidden layer, 0 of one that there is not."""
        first, second = (*self.widths[1:-1], 0, 0)[:2]
        return first, second


def perceptron_of(policy: Policy) -> Perceptron | str:
    """Shape of an actor without memory, or the reason why no kernel can evaluate it."""
    return shape_of(policy) if type(policy) is Policy else "it remembers"


def shape_of(policy: Policy) -> Perceptron | str:
    """Shape of what acts for a policy, or the reason why the kernel cannot evaluate it."""
    model, distribution, memory = policy.model, policy.distribution, None
    # a kind of policy that the kernel has
    if type(policy) is RecurrentPolicy:
        found = memory_of(policy)
        if isinstance(found, str):
            return found
        memory = found
    elif type(policy) is not Policy:
        return "it remembers"
    elif type(model) is not MLP:
        return f"its model is a {type(model).__name__}, not the plain MLP"
    if policy.preprocessing is not None:
        return "it does not see float32 alone"
    if type(distribution) not in (Categorical, Gaussian):
        return f"it acts by a {type(distribution).__name__}"
    # layers and activations of its actor
    layers = _layers_of(_actor_of(model), model.actor_layers if isinstance(model, MLP) else model)
    if isinstance(layers, str):
        return f"its actor {layers}"
    # sizes that fit the kernel
    (features, *others), activation = layers
    if memory is not None and len(others) == 1:  # the memory reads what is observed
        features = next(memory_parts(model)).shape[1]  # type: ignore[arg-type]
    widths = (features, *others)
    if len(widths) > MAX_HIDDEN + 2 or max(widths[1:]) > MAX_WIDTH or widths[0] > MAX_FEATURES:
        return (
            f"its actor has widths {' - '.join(map(str, widths))}; the kernel takes up to {MAX_FEATURES} inputs and "
            f"{MAX_HIDDEN} hidden layers of up to {MAX_WIDTH}, with as many outputs"
        )
    return Perceptron(widths, activation, policy.normaliser is not None, isinstance(distribution, Gaussian), memory)


def _actor_of(model: nn.Module) -> list[nn.Module]:
    """Layers that the actions depend on but for those of a memory, in their order."""
    if isinstance(model, MLP):
        return list(model.actor_layers)
    encoder: nn.Module = model.encoder  # type: ignore[assignment]
    layers = list(encoder) if isinstance(encoder, nn.Sequential) else [encoder]
    return [*layers, model.actor_layer]  # type: ignore[list-item]


def critic_of(policy: Policy) -> tuple[tuple[int, ...], str] | None:
    """Widths and activation of a policy's critic, if its actor is a ``Perceptron``; None if it is not such layers."""
    assert isinstance(policy.model, MLP)
    layers = _layers_of(list(policy.model.critic_layers), policy.model.critic_layers)
    return None if isinstance(layers, str) else layers


def _layers_of(layers: Sequence[nn.Module], network: nn.Module) -> tuple[tuple[int, ...], str] | str:
    """Widths and activation of linear layers in float32, or what they are or their network has instead."""
    linear = [layer for layer in layers[::2] if is_plain(layer)]
    between = layers[1::2]
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
    yield from (part.detach() for part in _weights(policy.model))
    if policy.normaliser is not None:
        yield policy.normaliser.mean.float()
        yield policy.normaliser.scale.float()
    if isinstance(policy.distribution, Gaussian):
        yield policy.distribution.log_std.detach()
    if isinstance(policy.model, Recurrent) and policy.value_scale is not None:
        yield policy.value_scale.deviation.float()
        yield policy.value_scale.mean.float()


def _weights(model: nn.Module) -> Iterator[Tensor]:
    """Weights and biases of all layers, those of actions and values as of one layer."""
    *hidden, last = [layer for layer in _actor_of(model) if isinstance(layer, nn.Linear)]
    yield from (part for layer in hidden for part in (layer.weight, layer.bias))
    if isinstance(model, RecurrentNetwork):
        yield from memory_parts(model)
    heads = [last, model.critic_layer] if isinstance(model, Recurrent) else [last]
    yield from (head.weight for head in heads)
    yield from (head.bias for head in heads)


def _transposed(shape: Perceptron) -> Tensor:
    """Place of each number of a row in ``_parts``: (size,) int64."""
    found, begun = list[Tensor](), 0
    for inputs, units in shape.products:
        weights = torch.arange(begun, begun + inputs * units)
        found.append(weights.view(units, inputs).t().flatten())
        begun += inputs * units
        found.append(torch.arange(begun, begun + units))
        begun += units
    return torch.cat([*found, torch.arange(begun, shape.size)])
