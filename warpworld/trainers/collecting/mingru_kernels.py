"""The kernels of a minimal GRU, where CUDA graphs are captured: a step, and a layer's recurrence, are a launch each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn

from warpworld.environment import Kernel
from warpworld.policies import MinGRU, Policy, is_reduced
from warpworld.policies.fused import NativeMean
from warpworld.world import World

FOLDER = Path(__file__).resolve().parent
LANES = 256  # of a block
TILE = 8  # rows that a lane takes at once, for each weight that it reads
MAX_LAYERS = 4  # of a step in one launch
MOST_SHARED = 12_000  # numbers of float32 in a block's shared memory
MOST_PROGRAMS = 1024  # launches that are kept, for calls with the same tensors


def give_kernels(policy: Policy, world: World) -> None:
    """Let kernels run the minimal GRUs of a policy that lies on the world's device; torch runs those of a copy.

    What they give differs from torch's by the rounding of float32, and of bfloat16 behind it.

    Args:
        policy: on the world's device.
        world: that is not sealed.
    """
    for cell in (module for module in policy.modules() if isinstance(module, MinGRU)):
        cell.native = MeanKernels(cell.size, world)
        rows = rows_of_block(cell)
        cell.stepper = StepKernel(cell, rows, world) if rows and len(cell.layers) <= MAX_LAYERS else None


class TensorKernels:
    """Kernels of a file whose parameters are addresses of torch's tensors, and numbers behind them.

    Args:
        world: that is not sealed.
        source: the file.
        constants: of the file.
        names: of its kernels.
    """

    def __init__(self, world: World, source: Path, constants: Mapping[str, int], names: Sequence[str]) -> None:
        self._world, self._programs = world, dict[tuple[str, tuple[int, ...]], Callable[[], None]]()
        self._functions = world.kernels(source, {"NUM_AGENTS": 1, **constants})
        self._functions.build([Kernel(name, (1, LANES), own_env_only=False) for name in names])

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Copy as None: torch runs a copied network."""
        return type(None), ()

    def is_here(self, tensor: Tensor) -> bool:
        """Whether kernels can read a tensor: while the world has no memory, torch runs the network."""
        if not self._world.data.sealed:
            self._programs.clear()  # each holds the store's memory
            return False
        return tensor.device == self._world.device and tensor.numel() > 0 and not torch.compiler.is_compiling()

    def launch(self, kernel: str, tensors: Sequence[Tensor], numbers: Sequence[int]) -> None:
        """Run a kernel on contiguous tensors; a program knows their addresses, which return as torch's memory does."""
        given = (*(tensor.data_ptr() for tensor in tensors), *numbers)
        key = (kernel, given)
        if key not in self._programs:
            if len(self._programs) == MOST_PROGRAMS:
                self._programs.clear()
            step = self._functions.step(kernel, index=0, own_env_only=False, given=(*given, "num_envs"))
            self._programs[key] = self._world.program([step])
        self._programs[key]()


# ---- a step of all layers --------------------------------------------------------------------------------------------
def rows_of_block(cell: MinGRU) -> int:
    """Rows that a block takes at once in a step, with a layer's weights in shared memory; 0 if they do not fit."""
    width = max(_layers(cell)[0].in_features, cell.size)
    return next((rows for rows in (64, 32, 16, TILE) if width * 2 * (cell.size + rows) <= MOST_SHARED), 0)


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
        super().__init__(world, FOLDER / "mingru_step.cu", sizes, ["step"])

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
        self.launch("step", (encoded, state, hidden, after), (*weights, *biases, len(state), *flags))
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
        super().__init__(world, FOLDER / "mingru_means.cu", {"SIZE": size}, ["means", "mean_gradients"])

    def takes(self, said: Tensor, state: Tensor) -> bool:
        """Whether these are of the kind that it computes."""
        return said.dtype in self.dtypes and state.dtype == torch.float32 and self.is_here(said)

    def __call__(self, said: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """Implement ``gated_mean``: (T, S, 2 * size), (S, size) and (T, S) -> (T, S, size), with a gradient."""
        return NativeMean.apply(said.contiguous(), state.contiguous(), starts.contiguous(), self)

    def means(self, said: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """(T, S, size) float32 from contiguous tensors."""
        means = state.new_empty(*said.shape[:-1], said.shape[-1] // 2)
        self.launch("means", (said, state, starts, means), _sizes(said))
        return means

    def gradients(
        self, said: Tensor, state: Tensor, starts: Tensor, means: Tensor, given: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Gradients of ``said`` and ``state``, from that of the means, (T, S, size)."""
        of_said, of_state = torch.empty_like(said), torch.empty_like(state)
        tensors = (said, state, starts, means, given.contiguous(), of_said, of_state)
        self.launch("mean_gradients", tensors, _sizes(said))
        return of_said, of_state


def _sizes(said: Tensor) -> tuple[int, int, bool]:
    return said.shape[0], said.shape[1], said.dtype == torch.bfloat16
