"""Networks with a memory of minimal GRUs as a list of operations, which sequence_passes.cu takes in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest

from torch import Tensor, nn

from warpworld.policies import MinGRU, Policy, Recurrent, RecurrentPolicy
from warpworld.policies.packed import critic_of, is_plain, perceptron_of

SIDE = 32  # of a tile of a product, as tiles.cuh has it
LINEAR, MEANS, LOSS, MEANS_BACK, LINEAR_BACK, WEIGHTS = range(6)  # kinds, as sequence_passes.cu has them
OBSERVATIONS = -1  # what the first layer reads
MOST_UNITS, MOST_FEATURES = 128, 512  # of layers that are not left to torch's products


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
    is_reduced: int = 0


@dataclass(frozen=True)
class Network:
    """A network: hidden layers with an activation behind each, layers of a memory, and two heads.

    Attributes:
        hidden: layers before the memory, or of an actor without one.
        memory: its layers, each of gates and candidates.
        heads: of the actor and of the critic.
        critic: hidden layers of a critic that shares nothing; None for one that reads what the actor's head does.
        is_tanh: whether the activation is tanh, or else relu.
    """

    hidden: Sequence[nn.Linear]
    memory: Sequence[nn.Linear]
    heads: tuple[nn.Linear, nn.Linear]
    critic: Sequence[nn.Linear] | None
    is_tanh: bool

    @property
    def layers(self) -> list[nn.Linear]:
        """All layers."""
        return [*self.hidden, *self.memory, *(self.critic or ()), *self.heads]

    @property
    def flop(self) -> float:
        """Operations of forward and backward for a row; what is observed has no gradient."""
        whole = 3 * sum(each.weight.numel() for each in self.layers)
        chains = [each for each in (self.hidden or self.memory or self.heads[:1], self.critic) if each is not None]
        return 2.0 * (whole - sum((each or self.heads[1:])[0].weight.numel() for each in chains))


def network_of(policy: Policy) -> Network | None:
    """The networks of a policy; None where they are of another kind, or wider than ``MOST_UNITS``."""
    found = _recurrent(policy) if type(policy) is RecurrentPolicy else _perceptrons(policy)
    is_narrow = found is not None and all(each.in_features <= MOST_FEATURES for each in found.layers)
    units = [each.out_features for each in (*found.hidden, *(found.critic or ()))] if found else []
    units += [each.out_features // 2 for each in found.memory] if found else []
    return found if is_narrow and max(units, default=0) <= MOST_UNITS else None


def _recurrent(policy: RecurrentPolicy) -> Network | None:
    model = policy.model
    if type(model) is not Recurrent or type(model.cell) is not MinGRU or not isinstance(model.encoder, nn.Sequential):
        return None
    hidden, between = list(model.encoder)[::2], list(model.encoder)[1::2]
    kinds = {type(each) for each in between}
    is_regular = len(hidden) == len(between) and len(kinds) <= 1 and kinds <= {nn.Tanh, nn.ReLU}
    watched = any(each._forward_hooks or each._forward_pre_hooks for each in model.modules())
    layers = [*hidden, *model.cell.layers, model.actor_layer, model.critic_layer]
    if policy.preprocessing is not None or not is_regular or watched or not all(map(is_plain, layers)):
        return None
    memory = _linear(model.cell.layers)
    return Network(_linear(hidden), memory, (model.actor_layer, model.critic_layer), None, nn.ReLU not in kinds)


def _perceptrons(policy: Policy) -> Network | None:
    actor = perceptron_of(policy)
    critic = None if isinstance(actor, str) or actor.in_box else critic_of(policy)
    if isinstance(actor, str) or critic is None or critic[1] != actor.activation:
        return None
    own, other = _linear(policy.model.actor_layers), _linear(policy.model.critic_layers)  # type: ignore[arg-type]
    return Network(own[:-1], [], (own[-1], other[-1]), other[:-1], actor.activation == "tanh")


def _linear(layers: Iterable[nn.Module]) -> list[nn.Linear]:
    return [each for each in layers if isinstance(each, nn.Linear)]


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
        is_reduced: whether layers but the last ones multiply in bfloat16.
        lanes: of a block.
        parts: in which rows are added up for gradients of weights.
    """

    network: Network
    places: dict[int, tuple[int, int]]
    sequences: int
    steps: int
    is_reduced: bool
    lanes: int
    parts: int
    operations: list[Operation] = field(default_factory=list)
    columns: int = 0
    turns: int = 0
    most_at_once: int = 0

    def __post_init__(self) -> None:
        network, (actor, critic) = self.network, self.network.heads
        chains = [[*self._chain(network.hidden, network.memory)]]
        if network.critic is None:
            both = replace(self._head(actor, chains[0]), outputs=actor.out_features + 1)
            self._matrix(1)  # behind the logits: the value
            others, other_biases = self.places[id(critic)]
            chains[0].append(replace(both, others=others, other_biases=other_biases))
            values = {"gradient": both.given, "split": both.outputs, "layer": actor.out_features}
        else:
            chains[0].append(self._head(actor, chains[0]))
            chains.append([*self._chain(network.critic, ())])
            chains[1].append(self._head(critic, chains[1]))
            values = {"gradient": chains[1][-1].given, "split": 1, "layer": 0}
        loss = Operation(LOSS, outputs=chains[0][-1].outputs, given=chains[0][-1].given, **values)
        ways = [self._backward(chain) for chain in chains]
        self._add_phases(*chains)
        self._add([loss])
        self._add_phases(*(back for back, _ in ways))
        self._add([each for _, weights in ways for each in weights])
        self.loss_parts = self._turns(loss)

    @property
    def rows(self) -> int:
        """Rows of a minibatch, at most."""
        return self.sequences * self.steps

    def table(self) -> list[list[int]]:
        """Rows of the kernel's struct Operation."""
        return [[getattr(each, name) for name in Operation.__dataclass_fields__] for each in self.operations]

    # ---- the operations ----------------------------------------------------------------------------------------------
    def _chain(self, hidden: Sequence[nn.Linear], memory: Sequence[nn.Linear]) -> Iterator[Operation]:
        """Layers one behind the other, and means behind each of a memory."""
        read = OBSERVATIONS
        for layer in hidden:
            yield self._linear(layer, read, is_activated=1, is_reduced=self.is_reduced)
            read = self._latest
        for number, layer in enumerate(memory):
            yield self._linear(layer, read, is_reduced=self.is_reduced)
            said, size = self._latest, layer.out_features // 2
            read = self._matrix(size)
            yield Operation(MEANS, inputs=2 * size, outputs=size, read=said, given=read, layer=number)

    def _head(self, layer: nn.Linear, chain: Sequence[Operation]) -> Operation:
        return self._linear(layer, chain[-1].given if chain else OBSERVATIONS)

    def _backward(self, forward: Sequence[Operation]) -> tuple[list[Operation], list[Operation]]:
        """Operations of the way back, and those that give the gradients of weights at its end."""
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

    def _linear(self, layer: nn.Linear, read: int, **kind: int) -> Operation:
        weights, biases = self.places[id(layer)]
        outputs = layer.out_features
        given = self._matrix(outputs)
        sizes = {"inputs": layer.in_features, "outputs": outputs, "split": outputs, **kind}
        return Operation(LINEAR, read=read, given=given, weights=weights, biases=biases, **sizes)

    def _matrix(self, width: int) -> int:
        """Columns of scratch memory."""
        self._latest = self.columns
        self.columns += width
        return self._latest

    # ---- their turns -------------------------------------------------------------------------------------------------
    def _add_phases(self, *chains: Sequence[Operation]) -> None:
        """Operations of chains side by side."""
        for phase in zip_longest(*chains):
            self._add([each for each in phase if each is not None])

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
    """Offsets of the weights and biases of each layer in a vector that has them, by the layer's id."""

    def place(part: Tensor) -> int:
        return (part.data_ptr() - vector.data_ptr()) // vector.element_size()

    return {id(each): (place(each.weight), place(each.bias)) for each in network.layers}


def parameters_of(network: Network) -> list[Tensor]:
    """All weights and biases."""
    return list(chain.from_iterable((each.weight, each.bias) for each in network.layers))
