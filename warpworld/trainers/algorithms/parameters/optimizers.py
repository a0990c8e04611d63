"""torch's optimisers without what prepares them for ``torch.compile``.

Torch wraps an optimiser's functions so that a compiled program leaves them alone, and the first call of each imports
its compiler: more than half a second of a run's start, for something that is never used here.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import unwrap
from typing import Any

import torch


class UncompiledOptimizer(torch.optim.Optimizer):
    """An optimiser whose bookkeeping is torch's own, unwrapped."""

    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)
    load_state_dict = unwrap(torch.optim.Optimizer.load_state_dict)
    state_dict = unwrap(torch.optim.Optimizer.state_dict)


_adam_step = unwrap(torch.optim.Adam.step)


class Adam(UncompiledOptimizer, torch.optim.Adam):
    """``torch.optim.Adam``."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Take one step along the present gradient."""
        _adam_step(self, closure)
