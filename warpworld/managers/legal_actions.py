"""Actions that are out of their bounds, or no number."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from warpworld.errors import StoreError
from warpworld.managers.data_manager import DataManager
from warpworld.managers.program import CheckActions

if TYPE_CHECKING:
    import torch


class ActionBounds:
    """The bounds of an actions array, on the store's device.

    Attributes:
        low: (entries,) of the array's dtype: least legal value of each entry of an env. An infinite bound becomes the
            largest finite number, so that an infinite action is illegal.
        high: most.

    Args:
        step: what is checked.
        data: a sealed store.
    """

    def __init__(self, step: CheckActions, data: DataManager) -> None:
        import torch

        self._step, self._actions, self._array = step, data[step.array], data.array(step.array)
        limits = np.iinfo(np.int32) if self._array.dtype == "int32" else np.finfo(np.float32)

        def bounds(values: tuple[float, ...]) -> torch.Tensor:
            clipped = np.clip(np.asarray(values, np.float64), limits.min, limits.max).astype(self._array.dtype)
            return torch.from_numpy(clipped).to(self._actions.device)

        self.low, self.high = bounds(step.low), bounds(step.high)

    def refuse(self, envs: np.ndarray | None = None) -> None:
        """Raise where an action is illegal; waits for the device.

        Args:
            envs: indices, whose; None for all.

        Raises:
            StoreError: names the first of them, its env and its agent.
        """
        found = self._first_illegal() if envs is None else self._first_illegal_of(envs)
        if found is None:
            return
        env, entry = found
        entries = self._actions.flatten(1)
        value, low, high = entries[env, entry].item(), self._step.low[entry], self._step.high[entry]
        start = self._step.start[entry]
        counted = f", counted from 0 where its space counts from {_text(start)}" if start else ""
        raise StoreError(
            f"{self._step.array}: {self._place(env, entry)} has {_text(value)}, expected {_text(low)} to "
            f"{_text(high)}{counted}"
        )

    def _first_illegal(self) -> tuple[int, int] | None:
        """Env and entry of the first that is out of its bounds."""
        entries = self._actions.flatten(1)
        illegal = ~((entries >= self.low) & (entries <= self.high))
        if not bool(illegal.any()):
            return None
        env, entry = illegal.nonzero()[0].tolist()
        return env, entry

    @functools.cached_property
    def _on_host(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Actions of all envs in host memory, and their bounds."""
        return self._actions.flatten(1).numpy(), self.low.numpy(), self.high.numpy()

    def _first_illegal_of(self, envs: np.ndarray) -> tuple[int, int] | None:
        """Find the first illegal action of a few envs in host memory, which takes NumPy less time than torch."""
        actions, low, high = self._on_host
        chosen = actions[envs]
        legal = (chosen >= low) & (chosen <= high)
        if legal.all():
            return None
        row, entry = np.argwhere(~legal)[0].tolist()
        return int(envs[row]), entry

    def _place(self, env: int, entry: int) -> str:
        """Env, agent and part of an entry, as far as there are several."""
        agents, parts = self._actions.shape[1], self._actions[0, 0].numel()
        words = [f"env {env}", f"agent {entry // parts}" if agents > 1 else "", f"part {entry % parts}"]
        return ", ".join(word for word in (words if parts > 1 else words[:2]) if word)


def _text(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else f"{number:g}"
