"""Networks with a memory of minimal GRUs as a list of operations, which sequence_passes.cu takes in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from torch import nn

from warpworld.policies import MinGRU, Recurrent, RecurrentPolicy
from warpworld.policies.packed import is_plain

SIDE = 32  # of a tile of a product, as tiles.cuh has it
LINEAR, MEANS, LOSS, MEANS_BACK, LINEAR_BACK, WEIGHTS = range(6)  # kinds, as sequence_passes.cu has them
OBSERVATIONS = -1  # what the first layer reads


@dataclass(frozen=True)
class Operation:
    """Struct of sequence_passes.cu: fields that it documents, in its order."""

    kind: int
    turns: int = 0
    waits: int = 0
    inputs: int = 0
    outputs: int = 0
    read: int = 0
    given: int = 0
    gradient: int = 0
    weights: int = 0
    biases: int = 0
    others: int = 0
    other_biases: int = 0
    split: int = 0
    is_activated: int = 0
    layer: int = 0


@dataclass(frozen=True)
class Network:
    """A network: layers of an encoder with an activation behind each, of a memory, and two heads.

    Attributes:
        encoder: its layers.
        memory: its layers, each of gates and candidates.
        heads: of the actor and of the critic.
        is_tanh: whether the activation is tanh, or else relu.
    """

    encoder: Sequence[nn.Linear]
    memory: Sequence[nn.Linear]
    heads: tuple[nn.Linear, nn.Linear]
    is_tanh: bool

    @property
    def layers(self) -> list[nn.Linear]:
        """All layers."""
        return [*self.encoder, *self.memory, *self.heads]


def network_of(policy: object) -> Network | None:
    """The networks of a policy; None where they are of another kind."""
    model = policy.model if type(policy) is RecurrentPolicy else None
    if type(model) is not Recurrent or type(model.cell) is not MinGRU or not isinstance(model.encoder, nn.Sequential):
        return None
    assert isinstance(policy, RecurrentPolicy)
    encoder, between = list(model.encoder)[::2], list(model.encoder)[1::2]
    kinds = {type(each) for each in between}
    layers = [*encoder, *model.cell.layers, model.actor_layer, model.critic_layer]
    is_regular = len(encoder) == len(between) and len(kinds) <= 1 and kinds <= {nn.Tanh, nn.ReLU}
    watched = any(each._forward_hooks or each._forward_pre_hooks for each in model.modules())
    if policy.preprocessing is not None or not is_regular or watched or not all(map(is_plain, layers)):
        return None
    memory = [each for each in model.cell.layers if isinstance(each, nn.Linear)]
    own = [each for each in encoder if isinstance(each, nn.Linear)]
    return Network(own, memory, (model.actor_layer, model.critic_layer), nn.ReLU not in kinds)


@dataclass
class Plan:
    """The operations of a minibatch.

    Attributes:
        operations: in order.
        columns: of scratch memory, for each row.
        turns: of all operations.
        most_at_once: turns that may be taken at the same time.

    Args:
        network: see above.
        places: where weights and biases of each layer begin in the vector of parameters, by the layer's id.
        sequences: of a minibatch, at most.
        steps: of a sequence.
        lanes: of a block.
        parts: in which rows are added up for gradients of weights.
    """

    network: Network
    places: dict[int, tuple[int, int]]
    sequences: int
    steps: int
    lanes: int
    parts: int
    operations: list[Operation] = field(default_factory=list)
    columns: int = 0
    turns: int = 0
    most_at_once: int = 0

    def __post_init__(self) -> None:
        forward = list(self._forward())
        loss = forward[-1]
        backward, weights = self._backward(forward[:-1])
        for phase in (*([each] for each in forward), *([each] for each in backward), weights):
            self._add(phase)
        self.loss_parts = self._turns(loss)

    @property
    def rows(self) -> int:
        """Rows of a minibatch, at most."""
        return self.sequences * self.steps

    def table(self) -> list[list[int]]:
        """Rows of the kernel's struct Operation."""
        return [[getattr(each, name) for name in Operation.__dataclass_fields__] for each in self.operations]

    # ---- the operations ----------------------------------------------------------------------------------------------
    def _forward(self) -> Iterator[Operation]:
        read = OBSERVATIONS
        for layer in self.network.encoder:
            yield self._linear(layer, read, is_activated=1)
            read = self._latest
        for number, layer in enumerate(self.network.memory):
            yield self._linear(layer, read)
            said, size = self._latest, layer.out_features // 2
            read = self._matrix(size)
            yield Operation(MEANS, inputs=2 * size, outputs=size, read=said, given=read, layer=number)
        actor, critic = self.network.heads
        heads = replace(self._linear(actor, read), outputs=actor.out_features + 1)
        self._matrix(1)  # behind the logits: the value
        others, other_biases = self.places[id(critic)]
        yield replace(heads, others=others, other_biases=other_biases)
        yield replace(heads, kind=LOSS)

    def _backward(self, forward: Sequence[Operation]) -> tuple[list[Operation], list[Operation]]:
        """What goes back through the operations, and the gradients of weights at its end."""
        back, weights, gradient = list[Operation](), list[Operation](), forward[-1].given
        for number, each in reversed(list(enumerate(forward))):
            if each.kind == MEANS:
                back.append(replace(each, kind=MEANS_BACK, gradient=gradient))
                gradient = each.read  # what the layer gave becomes its gradient
                continue
            weights.append(replace(each, kind=WEIGHTS, given=gradient))
            if each.read == OBSERVATIONS:
                break
            further = self._matrix(each.inputs)
            was_activated = forward[number - 1].is_activated
            back.append(replace(each, kind=LINEAR_BACK, given=gradient, gradient=further, is_activated=was_activated))
            gradient = further
        return back, weights

    def _linear(self, layer: nn.Linear, read: int, is_activated: int = 0) -> Operation:
        weights, biases = self.places[id(layer)]
        outputs = layer.out_features
        given = self._matrix(outputs)
        sizes = {"inputs": layer.in_features, "outputs": outputs, "split": outputs, "is_activated": is_activated}
        return Operation(LINEAR, read=read, given=given, weights=weights, biases=biases, **sizes)

    def _matrix(self, width: int) -> int:
        """Columns of scratch memory."""
        self._latest = self.columns
        self.columns += width
        return self._latest

    # ---- their turns -------------------------------------------------------------------------------------------------
    def _add(self, phase: Sequence[Operation]) -> None:
        """Operations that need not wait for each other."""
        begins = self.turns
        for each in phase:
            turns = self._turns(each)
            self.operations.append(replace(each, turns=turns, waits=begins))
            self.turns += turns
        self.most_at_once = max(self.most_at_once, self.turns - begins)

    def _turns(self, each: Operation) -> int:
        if each.kind in (MEANS, MEANS_BACK):
            return _parts(self.sequences * each.outputs, self.lanes)
        if each.kind == LOSS:
            return _parts(self.rows, self.lanes)
        if each.kind == WEIGHTS:
            return self.parts * _parts(each.outputs, SIDE) * _parts(each.inputs + 1, SIDE)
        return _parts(self.rows, SIDE) * _parts(each.inputs if each.kind == LINEAR_BACK else each.outputs, SIDE)


def _parts(count: int, of: int) -> int:
    return -(-count // of)


def places_of(network: Network, vector: nn.Parameter) -> dict[int, tuple[int, int]]:
    """Where weights and biases of each layer begin in a vector that has them, by the layer's id."""

    def place(part: nn.Parameter) -> int:
        return (part.data_ptr() - vector.data_ptr()) // vector.element_size()

    return {id(each): (place(each.weight), place(each.bias)) for each in network.layers}


def parameters_of(network: Network) -> list[nn.Parameter]:
    """All weights and biases."""
    return list(chain.from_iterable((each.weight, each.bias) for each in network.layers))
