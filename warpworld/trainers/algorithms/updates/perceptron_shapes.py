"""Shapes of policies whose gradients perceptron_passes.cu computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from warpworld.managers import LEAST_BLOCKS
from warpworld.policies import Policy
from warpworld.policies.packed import critic_of, perceptron_of

TILES, LANES = (32, 16), (128, 256)  # rows that an env takes at once, and its threads
MOST_SHARED = 11_200  # numbers of float32 in a block's shared memory, besides sums and rows
MOST_SUMS = 96  # weights that a thread adds up; more would spill its registers
# With no more of them than this, 128 registers do, so that a multiprocessor holds twice as many blocks.
FEW_SUMS, THREADS_AT_ONCE = 48, 512


@dataclass(frozen=True)
class Shape:
    """Shape of the networks, and how a block takes their rows.

    Attributes:
        actor: widths of what the actor reads, of its hidden layers, and of its outputs.
        critic: those of the critic.
        activation: of the hidden layers: "tanh" or "relu".
        tile: rows that a block takes at once.
        lanes: its threads.
    """

    actor: tuple[int, ...]
    critic: tuple[int, ...]
    activation: str
    tile: int
    lanes: int

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers that the actor, and the critic, have in the vector of all parameters."""
        actor, critic = (
            sum(_fours(a * b) + _fours(b) for a, b in pairwise(each)) for each in (self.actor, self.critic)
        )
        return actor, critic

    @property
    def sums(self) -> int:
        """Weights of a network that a thread adds up."""
        return max(sum(_blocks(a, b, self.lanes) for a, b in pairwise(widths)) for widths in (self.actor, self.critic))

    @property
    def fits(self) -> bool:
        """Whether a block has the memory, and a thread the registers."""
        return max(self._shared(self.actor), self._shared(self.critic)) <= MOST_SHARED and self.sums <= MOST_SUMS

    def _shared(self, widths: tuple[int, ...]) -> int:
        """Numbers of a network in shared memory: its weights, and a tile."""
        weights = sum(outputs * (inputs + 1 | 1) for inputs, outputs in pairwise(widths))
        return _fours(weights) + sum(widths) * (self.tile + 4)

    @property
    def fills(self) -> bool:
        """Whether the threads take a layer at once, or there is no wider block."""
        widest = max(self.actor[1:])
        return self.lanes == LANES[-1] or self.tile // 4 * -(-widest // 2) <= self.lanes

    def constants(self) -> dict[str, int]:
        """Constants of the kernels for the policy, and how many blocks are at once at least."""
        first, second = (*self.actor[1:-1], 0, 0)[:2]
        return {
            "FEATURES": self.actor[0],
            "CRITIC_FEATURES": self.critic[0],
            "HIDDEN_1": first,
            "HIDDEN_2": second,
            "IS_TANH": self.activation == "tanh",
            "TILE": self.tile,
            LEAST_BLOCKS: THREADS_AT_ONCE // self.lanes if self.sums <= FEW_SUMS else 1,
        }


def shape_of(policy: Policy) -> Shape | None:
    """Shape of a policy's networks; None where the kernels have no such policy, or do not fit it."""
    actor = perceptron_of(policy)
    if isinstance(actor, str) or actor.in_box:
        return None
    critic = critic_of(policy)
    if critic is None:
        return None
    widths, activation = critic
    if (*widths[1:-1], 1) != (*actor.widths[1:-1], widths[-1]) or activation != actor.activation:
        return None
    shapes = [Shape(actor.widths, widths, activation, tile, lanes) for tile in TILES for lanes in LANES]
    able = [shape for shape in shapes if shape.fits]
    return next((shape for shape in able if shape.fills), None)


def _numbers(widths: Sequence[int]) -> int:
    """Numbers of layers, each of whose weights and biases begin at a multiple of four."""
    return sum(_fours(inputs * outputs) + _fours(outputs) for inputs, outputs in pairwise(widths))


def _blocks(inputs: int, outputs: int, lanes: int) -> int:
    """Weights of a layer that a thread adds up, in blocks of four by four."""
    return -(-(-(-inputs // 4) * -(-outputs // 4)) // lanes) * 16


def _fours(count: int) -> int:
    return -(-count // 4) * 4
