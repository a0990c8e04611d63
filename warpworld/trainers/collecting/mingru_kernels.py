"""The kernels of a minimal GRU, where CUDA graphs are captured: a step, and a layer's recurrence, are a launch each."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn

from warpworld.policies import MinGRU, Policy, is_reduced
from warpworld.policies.fused import NativeMean
from warpworld.trainers.collecting.tensor_kernels import TensorKernels, needs_of
from warpworld.world import World

FOLDER = Path(__file__).resolve().parent
WARP = 32
MOST_LANES = 256  # of a block
TILE = 8  # rows that a lane takes at once, for each weight that it reads
BLOCKS_AT_WORK = 256  # that a step is divided into at least, if there are rows: two on a multiprocessor of an H200
MAX_LAYERS = 4  # of a step in one launch
MOST_SHARED = 12_000  # numbers of float32 in a block's shared memory


def give_kernels(policy: Policy, world: World) -> None:
    """Let kernels run the minimal GRUs of a policy that lies on the world's device; torch runs those of a copy.

    What they give differs from torch's by the rounding of float32, and of bfloat16 behind it.

    Args:
        policy: on the world's device.
        world: that is not sealed.
    """
    for cell in (module for module in policy.modules() if isinstance(module, MinGRU)):
        cell.native = MeanKernels(cell.size, world)
        rows = rows_of_block(cell, world.num_envs)
        cell.stepper = StepKernel(cell, rows, world) if rows and len(cell.layers) <= MAX_LAYERS else None


# ---- a step of all layers --------------------------------------------------------------------------------------------
def rows_of_block(cell: MinGRU, rows: int) -> int:
    """Rows that a block takes at once in a step, with a layer's weights in shared memory; 0 if they do not fit.

    Args:
        cell: that is run.
        rows: of a step, about.
    """
    width = max(_layers(cell)[0].in_features, cell.size)
    fitting = [n for n in (64, 32, 16, TILE) if width * (2 * cell.size + 1 + 2 * (n + 4)) <= MOST_SHARED]
    return next((n for n in fitting if n * BLOCKS_AT_WORK <= rows), min(fitting, default=0))


def _lanes_of_block(cell: MinGRU, rows: int) -> int:
    """Threads of a block that takes so many rows: one for each unit of ``TILE`` rows."""
    return min(-(-(rows // TILE * cell.size) // WARP) * WARP, MOST_LANES)


class StepKernel(TensorKernels):
    """Runs steps of a cell of up to ``MAX_LAYERS`` layers.

    Args:
        cell: that is run.
        rows: see ``rows_of_block``.
        world: that is not sealed.
    """

    def __init__(self, cell: MinGRU, rows: int, world: World) -> None:
        sizes = {
            "WIDTH": _layers(cell)[0].in_features,
            "SIZE": cell.size,
            "LAYERS": len(cell.layers),
            "ROWS": rows,
            "TILE": TILE,
        }
        self._rows = rows
        super().__init__(world, FOLDER / "mingru_step.cu", sizes, ["remember"], _lanes_of_block(cell, rows))

    def takes_step(self, encoded: Tensor, state: Tensor) -> bool:
        """Whether ``step`` computes these; it gives no gradient."""
        reads = encoded.dtype == torch.float32 or (encoded.dtype == torch.bfloat16 and is_reduced(encoded))
        return reads and state.dtype == torch.float32 and not torch.is_grad_enabled() and self.is_here(encoded)

    def step(self, cell: MinGRU, encoded: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """``Cell.step`` by the present weights: (rows, width) and (rows, state size) -> (rows, size) and the state."""
        encoded, state = encoded.contiguous(), state.contiguous()
        hidden, after = state.new_empty(len(state), cell.size), torch.empty_like(state)
        absent = [0] * (MAX_LAYERS - len(cell.layers))  # addresses
        weights = [*(layer.weight.data_ptr() for layer in _layers(cell)), *absent]
        biases = [*(layer.bias.data_ptr() for layer in _layers(cell)), *absent]
        flags = (encoded.dtype == torch.bfloat16, is_reduced(encoded))
        tensors, numbers = (encoded, state, hidden, after), (*weights, *biases, len(state), *flags)
        parameters = [each for layer in _layers(cell) for each in (layer.weight, layer.bias)]
        flop = 2 * len(state) * sum(layer.weight.numel() for layer in _layers(cell))
        needs = needs_of((encoded, state, *parameters), (hidden, after), flop)
        self.launch("remember", tensors, numbers, -(-len(state) // self._rows), needs)
        return hidden, after


def _layers(cell: MinGRU) -> list[nn.Linear]:
    return list(cell.layers)  # type: ignore[arg-type]


# ---- through time ----------------------------------------------------------------------------------------------------
class MeanKernels(TensorKernels):
    """``gated_mean`` and its gradient.

    Args:
        size: of a layer.
        world: that is not sealed.
    """

    dtypes: ClassVar[tuple[torch.dtype, ...]] = (torch.float32, torch.bfloat16)

    def __init__(self, size: int, world: World) -> None:
        super().__init__(world, FOLDER / "mingru_means.cu", {"SIZE": size}, ["means", "mean_gradients"], WARP)

    def takes(self, said: Tensor, state: Tensor) -> bool:
        """Whether these are of the kind that it computes."""
        return said.dtype in self.dtypes and state.dtype == torch.float32 and self.is_here(said)

    def __call__(self, said: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """Implement ``gated_mean``: (T, S, 2 * size), (S, size) and (T, S) -> (T, S, size), with a gradient."""
        return NativeMean.apply(said.contiguous(), state.contiguous(), starts.contiguous(), self)

    def means(self, said: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """(T, S, size) float32 from contiguous tensors."""
        means = state.new_empty(*said.shape[:-1], said.shape[-1] // 2)
        needs = needs_of((said, state, starts), (means,))
        self.launch("means", (said, state, starts, means), _sizes(said), -(-state.numel() // WARP), needs)
        return means

    def gradients(
        self, said: Tensor, state: Tensor, starts: Tensor, means: Tensor, given: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Gradients of ``said`` and ``state``, from that of the means, (T, S, size)."""
        of_said, of_state = torch.empty_like(said), torch.empty_like(state)
        tensors = (said, state, starts, means, given.contiguous(), of_said, of_state)
        needs = needs_of(tensors[:5], (of_said, of_state))
        self.launch("mean_gradients", tensors, _sizes(said), -(-state.numel() // WARP), needs)
        return of_said, of_state


def _sizes(said: Tensor) -> tuple[int, int, bool]:
    return said.shape[0], said.shape[1], said.dtype == torch.bfloat16
