"""Kernels for whole passes over sequences, of policies with a memory of minimal GRUs: see sequence_passes.cu."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from warpworld.policies import Categorical, Policy
from warpworld.trainers.algorithms.experience import Batch, Experience, Sequences
from warpworld.trainers.algorithms.parameters import FlatParameters
from warpworld.trainers.algorithms.updates.joint_passes import PassLaunches
from warpworld.trainers.algorithms.updates.pass_kernels import PassKernels, Work
from warpworld.trainers.algorithms.updates.sequence_plans import (
    Network,
    Plan,
    network_of,
    parameters_of,
    places_of,
)

SOURCE = Path(__file__).resolve().parent / "sequence_passes.cu"
LANES = 256
MOST_PARTS, ROWS_OF_PART = 64, 256  # that add up rows for gradients of weights, of so many rows at least
# Few blocks: more tiles for each are left to torch's products, which take all of a GPU.
ENOUGH_BLOCKS, MOST_TILES = 128, 64


def sequence_kernels(
    policy: Policy, parameters: FlatParameters, launches: PassLaunches, is_reduced: bool = False
) -> SequenceKernels | None:
    """Kernels for the gradients of a policy that acts by choices; None where its networks are others.

    Args:
        policy: on the world's device.
        parameters: of the policy.
        launches: of the world's policies.
        is_reduced: whether hidden layers multiply in bfloat16.
    """
    network = network_of(policy)
    if network is None or type(policy.distribution) is not Categorical:
        return None
    if {id(part) for part in parameters.parts} != {id(part) for part in parameters_of(network)}:
        return None  # some are not learnt
    return SequenceKernels(launches, policy, parameters, network, is_reduced)


class SequenceKernels(PassKernels):
    """Passes over sequences; arguments as of ``PassKernels``, and the policy's networks."""

    def __init__(
        self, launches: PassLaunches, policy: Policy, parameters: FlatParameters, network: Network, is_reduced: bool
    ) -> None:
        given = launches, policy, parameters, SOURCE, "learn_sequences", LANES
        super().__init__(*given, {"SEQUENCES": True}, {"IS_TANH": network.is_tanh})
        self.is_reduced = is_reduced
        self._network, self._plans = network, dict[tuple[int, int], tuple[Plan, Tensor]]()

    def takes_rows(self, rows: Experience, longest: int) -> bool:
        """Implement ``PassKernels``: sequences, or rows without a memory, enough of them for blocks."""
        is_fit = (
            isinstance(rows, Sequences) if self._network.memory else isinstance(rows, Batch) and not rows.evaluation
        )
        if not is_fit or rows.rows.critic_inputs is not None:
            return False
        plan, _ = self._plan(longest, rows.length if isinstance(rows, Sequences) else 1)
        blocks = min(plan.most_at_once, self.num_envs)
        return blocks >= ENOUGH_BLOCKS or plan.most_at_once <= MOST_TILES * blocks

    def _plan(self, longest: int, steps: int) -> tuple[Plan, Tensor]:
        """The operations of a minibatch, also as a table on the device, which lies there before a graph is captured."""
        sizes = longest, steps
        if sizes not in self._plans:
            parts = max(1, min(longest * steps // ROWS_OF_PART, MOST_PARTS))
            plan = Plan(
                self._network, places_of(self._network, self._parameters.vector), *sizes, self.is_reduced, LANES, parts
            )
            table = torch.tensor(plan.table(), dtype=torch.int32, device=self._parameters.vector.device)
            self._plans[sizes] = plan, table
        return self._plans[sizes]

    def work(self, rows: Experience, longest: int) -> Work:
        """Implement ``PassKernels``."""
        vector, memories, steps, state_size = self._parameters.vector, list[Tensor | None]([None, None]), 1, 0
        if isinstance(rows, Sequences):
            memories, steps = [rows.states.contiguous(), rows.starts.contiguous()], rows.length
            state_size = rows.states.shape[1]
        plan, table = self._plan(longest, steps)
        read = [*self.seen_by(rows.rows.observations), *memories]
        # what operations give, and what parts of rows find of weights, between which there are zeros
        scratch = vector.new_empty(plan.columns * plan.rows)
        found = [table, scratch, vector.new_zeros(plan.parts, vector.numel()), self.figures(plan.loss_parts)]
        sizes = (len(table), plan.turns, plan.parts, plan.loss_parts, plan.rows, vector.numel())
        written = 4.0 * plan.columns  # bytes; each is read by what follows, on the way back, and for weights
        moved = (written, 3 * written)
        return Work(read, (state_size,), found, sizes, plan.turns, plan.most_at_once, self._network.flop, moved)
