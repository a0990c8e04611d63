"""Torch's own generator of the stand-in GPU, apart from that of the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

# Functions of torch's that draw from the generator of the device that they draw on.
DRAWS = {
    *("bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "multinomial", "normal"),
    *("normal_", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random_"),
    *("randperm", "rrelu", "uniform_", "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d"),
    *("feature_alpha_dropout", "gumbel_softmax"),
}


class GpuRandom:
    """A generator whose state takes the place of the CPU's while something is drawn on the GPU.

    Attributes:
        state: as torch's generator of the CPU writes it.
    """

    def __init__(self) -> None:
        self._is_drawing = False
        self.seed(0)

    def seed(self, seed: int) -> None:
        self.state = torch.Generator().manual_seed(seed).get_state()

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Let all that is drawn come from this generator; within itself it does nothing."""
        if self._is_drawing:
            yield
            return
        self._is_drawing, before = True, self._exchanged(self.state)
        try:
            yield
        finally:
            self._is_drawing, self.state = False, self._exchanged(before)

    def drawing_for(self, func: Any) -> Any:
        """``drawing`` where a function draws."""
        return self.drawing() if getattr(func, "__name__", "") in DRAWS else nullcontext()

    def _exchanged(self, state: torch.Tensor) -> torch.Tensor:
        """The state of the CPU's generator, which gets another."""
        with _disable_current_modes(), torch._C.DisableTorchFunction():
            before = torch.get_rng_state()
            torch.set_rng_state(state)
        return before


RANDOM = GpuRandom()
