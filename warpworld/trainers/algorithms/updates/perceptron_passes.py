"""Kernels for whole passes over the rows of policies of two small perceptrons, see perceptron_passes.cu."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from warpworld.policies import Categorical, Policy
from warpworld.trainers.algorithms.experience import Batch, Experience
from warpworld.trainers.algorithms.parameters import FlatParameters
from warpworld.trainers.algorithms.updates.joint_passes import PassLaunches
from warpworld.trainers.algorithms.updates.pass_kernels import PassKernels, Work
from warpworld.trainers.algorithms.updates.perceptron_shapes import THREADS_AT_ONCE, Shape, shape_of

SOURCE = Path(__file__).resolve().parent / "perceptron_passes.cu"
MOST_PARTS = 256  # of a minibatch for a network: each gives sums of its own
# Few blocks: rows of more tiles for each are left to torch's products, which take all of a GPU.
ENOUGH_BLOCKS, MOST_TILES = 128, 16


def perceptron_kernels(policy: Policy, parameters: FlatParameters, launches: PassLaunches) -> PerceptronKernels | None:
    """Kernels for the gradients of a policy that acts by choices; None where its networks are others, or do not fit.

    Args:
        policy: on the world's device.
        parameters: of the policy.
        launches: of the world's policies.
    """
    shape = shape_of(policy)
    if shape is None or not isinstance(policy.distribution, Categorical):
        return None
    layers = policy.model.actor_layers, policy.model.critic_layers
    wanted = [part for network in layers for part in network.parameters()]  # type: ignore[union-attr]
    if [id(part) for part in parameters.parts] != [id(part) for part in wanted]:
        return None  # some are not learnt
    return PerceptronKernels(launches, policy, parameters, shape)


class PerceptronKernels(PassKernels):
    """Passes over single rows; arguments as of ``PassKernels``.

    Attributes:
        shape: of the policy's networks.
    """

    def __init__(self, launches: PassLaunches, policy: Policy, parameters: FlatParameters, shape: Shape) -> None:
        shared = {"SEQUENCES": False, "THREADS_AT_ONCE": THREADS_AT_ONCE}
        given = launches, policy, parameters, SOURCE, "learn_passes", shape.lanes
        super().__init__(*given, shared, shape.constants())
        self.shape = shape

    def takes_rows(self, rows: Experience, longest: int) -> bool:
        """Implement ``PassKernels``: single rows that are not evaluated yet, enough of them for blocks."""
        return isinstance(rows, Batch) and rows.evaluation is None and self._is_enough(longest)

    def _is_enough(self, rows: int) -> bool:
        """Whether there are blocks enough for the rows of a minibatch."""
        blocks, tiles = min(2 * self._parts(rows), self.num_envs), 2 * -(-rows // self.shape.tile)
        return blocks >= ENOUGH_BLOCKS or tiles <= MOST_TILES * max(blocks, 2)

    def _parts(self, rows: int) -> int:
        """Parts of a minibatch that are taken by themselves, for each network."""
        return min(-(-rows // self.shape.tile), MOST_PARTS)

    def work(self, rows: Experience, longest: int) -> Work:
        """Implement ``PassKernels``."""
        assert isinstance(rows, Batch)
        of_actor, parts = self.seen_by(rows.observations), self._parts(longest)
        of_critic = of_actor if rows.critic_inputs is None else [rows.critic_inputs.contiguous(), None, None]
        found = [*(rows.advantages.new_empty(parts, size) for size in self.shape.sizes), self.figures(2 * parts)]
        weights = [sum(a * b for a, b in pairwise(widths)) for widths in (self.shape.actor, self.shape.critic)]
        first = [widths[0] * widths[1] for widths in (self.shape.actor, self.shape.critic)]
        flop = 2.0 * (3 * sum(weights) - sum(first))  # the rows have no gradient
        return Work([*of_actor, *of_critic], (), found, (), 2 * parts, 2 * parts, flop)
