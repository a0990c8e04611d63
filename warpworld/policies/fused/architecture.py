"""Architectures of the networks that can be run in C++."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from warpworld.policies import (
    GRU,
    LSTM,
    MLP,
    ActorWithCritic,
    BranchEncoder,
    CellStack,
    EntityEncoder,
    Layers,
    MinGRU,
    MultiInput,
    Policy,
    QNetwork,
    Recurrent,
    RecurrentActorAndCritic,
    RecurrentActorWithCritic,
    RecurrentQNetwork,
    RecurrentTeamQNetwork,
    ResidualBlock,
    Shared,
    TeamQNetwork,
    Transformer,
    author_of,
)
from warpworld.policies.fused.modules import UnfitError, activation_of, convolution_of, linear_of, pairs_of
from warpworld.policies.fused.trunk import PADDING, BytesOfFeatures, HeadShape, Trunk, View, Weights

MAX_LAYERS, MAX_SLABS = 48, 64  # of trunk.hpp
VALUE_NETWORKS = (QNetwork, TeamQNetwork, RecurrentQNetwork, RecurrentTeamQNetwork)
MOST_PIXELS = 1 << 14  # numbers of a step kept for all steps of some agents: 200 MB for 24 of them and 128 steps
SEPARATE = (MLP, MultiInput, ActorWithCritic)
REMEMBERING = (Recurrent, RecurrentActorWithCritic, RecurrentActorAndCritic)
# What bytes say, for gathering.hpp: where the numbers of a single one begin, or that several make a number.
_SAY = {"bool": 0, "uint8": 256, "float16": -1, "float32": -2}


@dataclass(frozen=True)
class Head:
    """The last layer of an actor or of a critic.

    Attributes:
        trunk: which one's top it reads.
        layer: its weights.
        read: what it reads.
        rows: which output lies in each column, in whole vectors.
    """

    trunk: int
    layer: nn.Linear
    read: View
    rows: np.ndarray

    def shape(self) -> HeadShape:
        """Structure for ``fused_make``; the memory that it points to lives as long as this object."""
        return HeadShape(
            trunk=self.trunk,
            inputs=len(self.read.holds),
            outputs=self.layer.out_features,
            weight_columns=self.layer.in_features,
            rows=self.rows.ctypes.data,
            columns=self.read.holds.ctypes.data,
        )


@dataclass(frozen=True)
class Architecture:
    """Layers of the networks of a policy, as the C++ side has them.

    Attributes:
        trunks: one that both heads read, or one for each, the actor's first.
        actor: the head of logits, of means, or of choices' values; of a dueling network that of their advantages.
        critic: the head of the state's value; None of a network of choices' values that is not dueling.
        is_dueling: whether values of choices are made of both heads' outputs.
        is_apart: whether the critic's trunk reads other inputs than the actor's.
    """

    trunks: Sequence[Trunk]
    actor: Head
    critic: Head | None
    is_dueling: bool = False
    is_apart: bool = False

    @property
    def features(self) -> int:
        """Numbers in an observation."""
        return self.trunks[0].features

    @property
    def state_size(self) -> int:
        """Numbers in one agent's recurrent state, with which it acts."""
        return self.trunks[0].state_size

    @property
    def critic_features(self) -> int:
        """Numbers that the critic reads."""
        return self.trunks[-1].features

    @property
    def critic_state_size(self) -> int:
        """Numbers in the state of a critic with a memory of its own, for one agent."""
        return sum(trunk.state_size for trunk in self.trunks[1:])

    @property
    def num_outputs(self) -> int:
        """Number of outputs of the actor."""
        return self.actor.layer.out_features

    @property
    def num_products(self) -> int:
        """Multiplications of one observation before the actor's last layer."""
        return self.trunks[self.actor.trunk].num_products

    @property
    def heads(self) -> list[Head]:
        """Heads that there are, the actor's first."""
        return [self.actor, *([] if self.critic is None else [self.critic])]

    @property
    def num_values(self) -> int:
        """Number of outputs of the critic: 1; 0 without one."""
        return 0 if self.critic is None else self.critic.layer.out_features

    @property
    def weights(self) -> list[Weights]:
        """Weights of all layers in the order of the C++ side: trunk by trunk, then the heads of actor and critic."""
        own = [weights for trunk in self.trunks for weights in trunk.weights]
        return own + [(head.layer.weight, head.layer.bias) for head in self.heads]


def architecture_of(
    model: nn.Module,
    lanes: int,
    in_pairs: bool = False,
    of_bytes: BytesOfFeatures | None = None,
    is_apart: bool = False,
) -> Architecture:
    """Describe the C++ side of a packaged model in float32 on the cpu.

    Args:
        model: "mlp" or "multi_input", or one of them that is shared, has a memory, gives values of choices, or stands
            beside a central critic.
        lanes: floats of a vector.
        in_pairs: layers but the last ones multiply pairs of bfloat16.
        of_bytes: see ``what_bytes_say``.
        is_apart: whether the critic reads other inputs than the actor, which are floats.

    Raises:
        UnfitError: another model, or one with layers that have no kernels.
    """
    _check(model)
    trunks, heads = list[Trunk](), list[Head]()
    for number, part in enumerate(_parts(model)):
        bytes_here = None if is_apart and number else of_bytes
        trunk = Trunk(part.features, lanes, in_pairs, bytes_here)
        top = encoded(trunk, part.encoder)
        trunk.finish(top if part.cell is None else trunk.cell(_cell(part.cell), top), heads=len(part.heads))
        trunks.append(trunk)
        heads += [_head(number, trunk, layer) for layer in part.heads]
    is_dueling = len(heads) == 2 and isinstance(model, QNetwork | RecurrentQNetwork)
    built = Architecture(trunks, heads[0], heads[1] if len(heads) == 2 else None, is_dueling, is_apart)
    for trunk in built.trunks:
        if trunk.num_layers > MAX_LAYERS or trunk.num_slabs > MAX_SLABS:
            raise UnfitError(f"it has {trunk.num_layers} layers before its last, more than {MAX_LAYERS}")
        if trunk.state_parts and trunk.num_pixels > MOST_PIXELS:
            raise UnfitError(
                f"it has a memory behind convolutions of {trunk.num_pixels:,} numbers, more than the {MOST_PIXELS:,} "
                "that are kept for each step of a sequence"
            )
    return built


def why_not(model: nn.Module) -> str | None:
    """Reason why a model cannot be run in C++; None if it can."""
    try:
        architecture_of(model, lanes=1)
    except UnfitError as reason:
        return str(reason)
    return None


def _check(model: nn.Module) -> None:
    if any(isinstance(module, ResidualBlock) for module in model.modules()):
        raise UnfitError("it has residual convolutions")
    if any(isinstance(module, EntityEncoder) for module in model.modules()):
        raise UnfitError("it attends to entities")
    if type(model) not in (*SEPARATE, *REMEMBERING, Shared, *VALUE_NETWORKS):
        raise UnfitError(f"its model is a {type(author_of(model)).__name__}, none of the packaged ones")
    if any(p.dtype != torch.float32 or p.device.type != "cpu" for p in model.parameters()):
        raise UnfitError("it is not float32 on the cpu")
    if any(module._forward_hooks or module._forward_pre_hooks for module in model.modules()):
        raise UnfitError("it has forward hooks")


# ---- parts -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Part:
    """An encoder, a cell behind it or None, and the last layers that read it: the actor's, then the critic's."""

    encoder: nn.Module
    cell: object
    heads: Sequence[nn.Linear]

    @property
    def features(self) -> int:
        """Numbers that it reads: its first layer says how many."""
        if isinstance(self.encoder, BranchEncoder):
            return sum(int(np.prod(shape)) for shape in self.encoder.shapes)
        for layer in self.encoder.children():
            if isinstance(layer, nn.Linear):
                return layer.in_features
        cell = None if self.cell is None else _cell(self.cell)
        if isinstance(cell, LSTM | GRU):
            return cell.input_size
        return linear_of(cell.layers[0] if isinstance(cell, MinGRU) else self.heads[0]).in_features


def _parts(model: Any) -> list[_Part]:
    """Parts of a model: one that all heads read, or the actor's and the critic's."""
    if isinstance(model, SEPARATE):
        return [_row(model.actor_layers), _row(model.critic_layers)]
    cell = getattr(model, "cell", None)
    if isinstance(model, RecurrentActorAndCritic):
        memory = model.memory
        return [_Part(model.encoder, cell, [model.actor_layer]), _Part(memory.encoder, memory.cell, [memory.layer])]
    if isinstance(model, RecurrentActorWithCritic):
        return [_Part(model.encoder, cell, [model.actor_layer]), _row(model.critic_layers)]
    if isinstance(model, QNetwork | RecurrentQNetwork):
        value = model.heads.value
        return [_Part(model.encoder, cell, [model.heads.advantages, *([] if value is None else [value])])]
    return [_Part(model.encoder, cell, [model.actor_layer, model.critic_layer])]


def _row(layers: nn.Module) -> _Part:
    """All but the last of an actor's or a critic's layers, and that one."""
    *first, last = layers if type(layers) is nn.Sequential else [layers]
    is_encoder = len(first) == 1 and not isinstance(first[0], nn.Linear)
    return _Part(first[0] if is_encoder else nn.Sequential(*first), None, [linear_of(last)])


def _cell(cell: object) -> nn.Module:
    if isinstance(cell, CellStack):
        raise UnfitError(f"its {type(cell.layers[0]).__name__} has {len(cell.layers)} layers where one is expected")
    if isinstance(cell, Transformer):
        raise UnfitError("its cell is a transformer")
    if not isinstance(cell, LSTM | GRU | MinGRU):
        raise UnfitError(f"its cell is a {type(cell).__name__}, none of the packaged ones")
    return cell


def _head(number: int, trunk: Trunk, layer: nn.Module) -> Head:
    last = linear_of(layer)
    return Head(number, last, trunk.top, trunk.padded(last.out_features))


# ---- observations ----------------------------------------------------------------------------------------------------
def what_bytes_say(policy: Policy) -> BytesOfFeatures | None:
    """Describe the rows of bytes that a policy sees.

    Args:
        policy: it makes features of its observations as ``Policy.features`` does.

    Returns:
        How its features lie in them; None where rows are floats, are normalised, or have choices among their parts.
    """
    kind, preprocessing = type(policy), policy.preprocessing
    if preprocessing is None or kind.features is not Policy.features or "features" in vars(policy):
        return None
    parts = preprocessing.rows.parts
    if policy.normaliser is not None or any(part.is_choice for part in parts):
        return None
    widths = np.concatenate([np.full(part.numbers, np.dtype(part.dtype).itemsize) for part in parts])
    say = np.concatenate([np.full(part.numbers, _SAY[part.dtype], np.int32) for part in parts])
    ends = np.cumsum(widths)
    return BytesOfFeatures(say, (ends - widths).astype(np.int32), int(ends[-1]))


# ---- encoders --------------------------------------------------------------------------------------------------------
def encoded(trunk: Trunk, encoder: nn.Module) -> View:
    """The encoder of a packaged model: layers, or branches for the parts of an observation and layers over them.

    Raises:
        UnfitError: it has modules that have no kernels.
    """
    if isinstance(encoder, nn.Sequential) and type(encoder) in (nn.Sequential, Layers):
        return _sequence(trunk, encoder, trunk.observation())
    if type(encoder) is not BranchEncoder:
        raise UnfitError(f"its encoder is a {type(encoder).__name__}, none of the packaged ones")
    columns, activation = trunk.rounded(encoder.branch_size), activation_of(_last(encoder.branches[0])[1])
    joined, holds = trunk.slab(columns * len(encoder.branches), activation), list[np.ndarray]()
    for number, (branch, part) in enumerate(zip(encoder.branches, trunk.parts(encoder.shapes), strict=True)):
        read = part
        for layer, behind in pairs_of(list(next(iter(branch.children())).children())):
            read = trunk.convolution(convolution_of(layer), read, activation_of(behind))
        written = trunk.linear(linear_of(_last(branch)[0]), read, activation, into=(joined, number * columns))
        holds.append(np.where(written.holds < 0, PADDING, written.holds + number * encoder.branch_size))
    return _sequence(trunk, encoder.joined, View(joined, 0, np.concatenate(holds).astype(np.int32)))


def _last(branch: nn.Module) -> list[nn.Module]:
    """A branch's linear layer and its activation."""
    *_, last = branch.children()
    return list(last.children())


def _sequence(trunk: Trunk, layers: nn.Sequential, read: View) -> View:
    for layer, activation in pairs_of(list(layers)):
        read = trunk.linear(linear_of(layer), read, activation_of(activation))
    return read
