"""Kernels for whole passes over sequences, of policies with a memory of minimal GRUs: see sequence_passes.cu."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from warpworld.policies import Categorical, Policy
from warpworld.trainers.algorithms.experience import Experience, Sequences
from warpworld.trainers.algorithms.parameters import FlatParameters
from warpworld.trainers.algorithms.updates.pass_kernels import PassKernels, Work
from warpworld.trainers.algorithms.updates.sequence_plans import (
    Network,
    Plan,
    network_of,
    parameters_of,
    places_of,
)
from warpworld.world import World

SOURCE = Path(__file__).resolve().parent / "sequence_passes.cu"
LANES = 256
MOST_PARTS, ROWS_OF_PART = 64, 256  # that add up rows for gradients of weights, of so many rows at least
# Few blocks: more tiles for each are left to torch's products, which take all of a GPU.
ENOUGH_BLOCKS, MOST_TILES = 128, 64


def sequence_kernels(policy: Policy, parameters: FlatParameters, world: World) -> SequenceKernels | None:
    """Kernels for the gradients of a policy that acts by choices; None where its networks are others.

    Args:
        policy: on the world's device.
        parameters: of the policy.
        world: that is not sealed.
    """
    network = network_of(policy)
    if network is None or type(policy.distribution) is not Categorical:
        return None
    if {id(part) for part in parameters.parts} != {id(part) for part in parameters_of(network)}:
        return None  # some are not learnt
    return SequenceKernels(world, policy, parameters, network)


class SequenceKernels(PassKernels):
    """Passes over sequences; arguments as of ``PassKernels``, and the policy's networks."""

    def __init__(self, world: World, policy: Policy, parameters: FlatParameters, network: Network) -> None:
        constants = {"IS_TANH": network.is_tanh, "SEQUENCES": True}
        super().__init__(world, policy, parameters, SOURCE, "learn_sequences", constants, LANES)
        self._network, self._plans = network, dict[tuple[int, int], tuple[Plan, Tensor]]()

    def takes_rows(self, rows: Experience, longest: int) -> bool:
        """Implement ``PassKernels``: sequences, enough of them for blocks."""
        if not isinstance(rows, Sequences) or rows.rows.critic_inputs is not None:
            return False
        plan, _ = self._plan(longest, rows.length)
        blocks = min(plan.most_at_once, self.num_envs)
        return blocks >= ENOUGH_BLOCKS or plan.most_at_once <= MOST_TILES * blocks

    def _plan(self, longest: int, steps: int) -> tuple[Plan, Tensor]:
        """The operations of a minibatch, also as a table on the device, which lies there before a graph is captured."""
        sizes = longest, steps
        if sizes not in self._plans:
            parts = max(1, min(longest * steps // ROWS_OF_PART, MOST_PARTS))
            plan = Plan(self._network, places_of(self._network, self._parameters.vector), *sizes, LANES, parts)
            table = torch.tensor(plan.table(), dtype=torch.int32, device=self._parameters.vector.device)
            self._plans[sizes] = plan, table
        return self._plans[sizes]

    def work(self, rows: Experience, longest: int) -> Work:
        """Implement ``PassKernels``."""
        assert isinstance(rows, Sequences)
        vector, (plan, table) = self._parameters.vector, self._plan(longest, rows.length)
        read = [*self.seen_by(rows.rows.observations), rows.states.contiguous(), rows.starts.contiguous()]
        # what operations give, and what parts of rows find of weights, between which there are zeros
        scratch = vector.new_empty(plan.columns * plan.rows)
        found = [table, scratch, vector.new_zeros(plan.parts, vector.numel()), self.figures(plan.loss_parts)]
        sizes = (len(table), plan.turns, plan.parts, plan.loss_parts, plan.rows, vector.numel())
        weights = [each.weight.numel() for each in self._network.layers]
        flop = 2.0 * (3 * sum(weights) - weights[0])  # the rows have no gradient
        written = 4.0 * plan.columns  # bytes; each is read by what follows, on the way back, and for weights
        return Work(read, rows.states.shape[1:], found, sizes, (), plan.most_at_once, flop, (written, 3 * written))
