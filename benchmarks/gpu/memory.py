"""Device memory, whoever takes it."""

from __future__ import annotations

import gc

import torch


class Memory:
    """Counts the memory that is taken from here on: torch's, with what it keeps for later, and the driver's."""

    def __init__(self, device: str) -> None:
        """Let go of what nobody needs any more, and look."""
        self._device = device
        gc.collect()
        if device == "cuda":
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        self._free = self._ask()

    def used(self) -> int:
        """Bytes; 0 on cpu, where nobody is asked."""
        return self._free - self._ask()

    def _ask(self) -> int:
        return torch.cuda.mem_get_info()[0] if self._device == "cuda" else 0
