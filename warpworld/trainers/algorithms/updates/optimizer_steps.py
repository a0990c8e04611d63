"""Steps of Adam and Muon as kernels take them, see optimizer_steps.cuh."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import torch
from torch import Tensor, nn

from warpworld.managers import Needs
from warpworld.trainers.algorithms.parameters import MOMENTUM, Adam, FlatParameters, Muon
from warpworld.trainers.collecting import TensorKernels
from warpworld.world import World

SOURCE = Path(__file__).resolve().parent / "optimizer_step.cu"
LANES = 256
MOST_PARTS = 128  # that a step is divided into
SIDE, ITERATIONS = 32, 5  # of a tile, and of Newton and Schulz, as muon.cuh has them


class MatrixMoves:
    """Memory in which kernels find the moves of an optimiser's matrices.

    Attributes:
        turns: that a step takes.
        most_at_once: turns that may be taken at the same time.
        flop: operations of a step.

    Args:
        optimizer: whose matrices they are.
        vector: all of its numbers.
    """

    def __init__(self, optimizer: Muon, vector: Tensor) -> None:
        self._others = optimizer.others
        sides = [sorted((each.rows, each.columns)) for each in optimizer.matrices]
        areas, grams = [a * a for a, _ in sides], [_tiles(a) ** 2 for a, _ in sides]
        tiles = [_tiles(a) * _tiles(b) for a, b in sides]
        before = [list(accumulate(each, initial=0)) for each in (areas, grams, tiles)]
        places = [each[:-1] for each in before]
        table = [[m.first, m.rows, m.columns, *own] for m, *own in zip(optimizer.matrices, *places, strict=True)]
        self._table = torch.tensor(table, dtype=torch.int32, device=vector.device)
        self._moves = torch.empty(2, vector.numel(), device=vector.device)
        self._squares = torch.empty(2, sum(areas), device=vector.device)
        self._sizes = [len(table), vector.numel(), *(each[-1] for each in before)]
        self.turns = ITERATIONS * (2 * sum(grams) + sum(tiles))
        self.most_at_once = max(sum(grams), sum(tiles))
        self.flop = 2.0 * ITERATIONS * sum(a * a * (a + 2 * b) for a, b in sides)

    def numbers(self, momentum: Tensor) -> list[float]:
        """Fields of the kernels' struct Muon."""
        held = (self._table, self._others, momentum, self._moves, self._squares)
        return [*(each.data_ptr() for each in held), MOMENTUM, *self._sizes]


def _tiles(side: int) -> int:
    return -(-side // SIDE)


def moves_of(parameters: FlatParameters) -> MatrixMoves | None:
    """Memory for the moves of parameters' matrices; None where Muon does not move them."""
    optimizer = parameters.optimizer
    return MatrixMoves(optimizer, parameters.vector) if type(optimizer) is Muon else None


@dataclass(frozen=True)
class KernelSteps:
    """Steps of a plain Adam, or of Muon, that kernels take in an optimiser's place.

    Attributes:
        optimizer: with its moments, number of steps and rate on the device.
        moves: of its matrices; None without Muon.
        rule: by which the rate follows the divergence: desired_kl, lowest, highest; None leaves it as it is.
        has_moved: whether steps were taken before from the rollout's rows.
    """

    optimizer: torch.optim.Optimizer
    moves: MatrixMoves | None = None
    rule: tuple[float, float, float] | None = None
    has_moved: bool = False

    def numbers(self, vector: nn.Parameter, rates: Tensor | None) -> list[float]:
        """Fields of the kernels' struct Adam."""
        group, state = self.optimizer.param_groups[0], self.optimizer.state[vector]
        held = [state["exp_avg"], state["exp_avg_sq"], state["step"], group["lr"]]
        places = [*(each.data_ptr() for each in held), 0 if self.rule is None or rates is None else rates.data_ptr()]
        of_matrices = _NO_MOVES if self.moves is None else self.moves.numbers(state["momentum_buffer"])
        return [*places, *group["betas"], group["eps"], *(self.rule or (0.0, 0.0, 0.0)), self.has_moved, *of_matrices]


_NO_MOVES = [*[0] * 5, 0.0, *[0] * 5]
NO_STEPS = [*[0] * 5, *[0.0] * 6, False, *_NO_MOVES]  # fields of the struct Adam without steps


def are_plain(optimizer: torch.optim.Optimizer, vector: nn.Parameter) -> bool:
    """Whether an optimiser is Adam without other terms, or Muon, and keeps all that it reads on the vector's device."""
    group, state = optimizer.param_groups[0], optimizer.state.get(vector)
    if type(optimizer) not in (Adam, Muon) or not state:
        return False
    is_plain = not any(group.get(name) for name in ("weight_decay", "amsgrad", "maximize"))
    held = [state["step"], group["lr"]]
    are_here = all(isinstance(each, Tensor) and each.device == vector.device for each in held)
    return is_plain and are_here and all(each.dtype == torch.float32 for each in held)


class StepKernels(TensorKernels):
    """Scales a gradient down to a length and takes a step along it, in one launch.

    Args:
        world: that is not sealed.
        parameters: that move.
    """

    moves_matrices = True

    def __init__(self, world: World, parameters: FlatParameters) -> None:
        self._moves = moves_of(parameters)
        constants = {"LANES": LANES, "MUON": self._moves is not None}
        super().__init__(world, SOURCE, constants, ["take_step"], LANES, exactly=True)
        self._counters = torch.zeros(3, dtype=torch.int32, device=world.device)

    def takes(self, optimizer: torch.optim.Optimizer, vector: nn.Parameter) -> bool:
        """Whether the kernel takes a step of an optimiser as it is."""
        return are_plain(optimizer, vector) and vector.dtype == torch.float32 and self.is_here(vector)

    def __call__(self, optimizer: torch.optim.Optimizer, vector: nn.Parameter, max_norm: float) -> Tensor:
        """One step along the vector's gradient, which is scaled down to ``max_norm`` first; gives its length before."""
        gradient, size, moves = vector.grad, vector.numel(), self._moves
        assert gradient is not None
        parts = min(-(-size // LANES), MOST_PARTS)
        squares, length = vector.new_empty(parts, dtype=torch.float64), vector.new_empty(())
        steps = KernelSteps(optimizer, moves).numbers(vector, None)
        longest = max_norm if max_norm < math.inf else 0.0
        numbers = (size, longest, *steps, parts, self._counters.data_ptr())
        needs = Needs(moves.flop if moves else 0.0, 5.0 * vector.nbytes, 4.0 * vector.nbytes)
        most = max(parts, moves.most_at_once if moves else 0)
        self.launch("take_step", (vector, gradient, squares, length), numbers, most, needs)
        return length

    def prepared(self, optimizer: torch.optim.Optimizer, vector: nn.Parameter, max_norm: float) -> None:
        """Give no address: C++ has no part in such steps."""


def give_steps(parameters: FlatParameters, world: World) -> None:
    """Let a kernel take the steps of parameters whose optimiser is Adam or Muon.

    Args:
        parameters: on the world's device.
        world: that is not sealed.
    """
    if type(parameters.optimizer) in (Adam, Muon):
        parameters.native = StepKernels(world, parameters)
