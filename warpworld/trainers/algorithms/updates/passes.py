"""Progress of an on-policy update: its rows, the passes over them, and their diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from warpworld.policies.fused import DIAGNOSTICS
from warpworld.trainers.algorithms.updates.minibatches import Epoch, Minibatches

Permutations = torch.Generator | Callable[[Tensor], Tensor]
"""A generator to draw from; or a function from a pass's number, (1,) int64, to what that gives: a permutation of its
rows, (rows,) int64, or uniform numbers where segments are drawn; or to those of all passes, one behind the other."""
RecomputedTargets = Callable[[], Tensor]
"""Gives new value targets of all rows, (rows,) float32."""


class Passes:
    """The passes of the present update. What changes from one to the next is on the device, in the same tensors always.

    Attributes:
        names: of the diagnostics that each minibatch has.
        minibatches: shuffles the rows of the present update.

    Args:
        names: see above.
        like: a tensor of the dtype of diagnostics, on their device.
    """

    minibatches: Minibatches

    def __init__(self, names: Sequence[str], like: Tensor) -> None:
        self.names = tuple(names)
        # one block of memory, which is emptied at once: how many passes are done, and three rows of diagnostics
        size = torch.int64.itemsize + 3 * len(self.names) * like.dtype.itemsize
        self._state = torch.zeros(size, dtype=torch.uint8, device=like.device)
        self._done = self._state[: torch.int64.itemsize].view(torch.int64)
        self._found = self._state[torch.int64.itemsize :].view(like.dtype).view(3, -1)
        self._sums, self._last, self._latest = self._found.unbind()

    @property
    def columns(self) -> list[int]:
        """Place of each name among ``DIAGNOSTICS`` and a gradient's length behind them; none if a name is another."""
        wide = (*DIAGNOSTICS, "grad_norm")
        return [wide.index(name) for name in self.names] if set(self.names) <= set(wide) else []

    def tensors(self) -> list[Tensor]:
        """Tensors that a pass changes here."""
        return [self._done, self._found]

    def begin(self, minibatches: Minibatches, permutations: Permutations, recomputed: RecomputedTargets | None) -> None:
        """Begin with an update's first pass.

        Args:
            minibatches: of the rows.
            permutations: of the passes.
            recomputed: gives other value targets of all rows for another pass; None keeps those there are.
        """
        self.minibatches, self._permutations, self._recomputed = minibatches, permutations, recomputed
        self._state.zero_()

    def drop(self) -> None:
        """Free the rows after an update that used no CUDA graph."""
        del self.minibatches, self._permutations, self._recomputed

    def recompute_targets(self) -> None:
        """Recompute the rows' value targets for another pass."""
        if self._recomputed is not None:
            self.minibatches.retarget(self._recomputed())

    def shuffle(self, count: int) -> Epoch:
        """The minibatches of the present pass, or of more of them."""
        permutations = self._permutations
        if isinstance(permutations, torch.Generator):
            return self.minibatches.shuffle(permutations, count)

        def given(behind: int) -> Tensor:
            return permutations(self._done + behind if behind else self._done)

        return self.minibatches.shuffle(given, count)

    def end(self, rows: Tensor, count: int) -> None:
        """End the passes that were shuffled, with diagnostics of their minibatches, (minibatches, 7) or ``names``."""
        if rows.shape[1] > len(self.names):
            rows = torch.stack([rows[:, each] for each in self.columns], 1)
        means = rows.view(count, -1, len(self.names)).mean(1)
        self._last.copy_(means[-1])
        self._sums.add_(means[0] if count == 1 else means.sum(0))
        self._latest.copy_(rows[-1])
        self._done.add_(count)

    def rows_of(self, found: Sequence[Mapping[str, Tensor]]) -> Tensor:
        """Argument of ``end``, from the diagnostics of each minibatch by name, () each."""
        return torch.stack([each[name] for each in found for name in self.names]).view(len(found), -1)

    def latest(self) -> dict[str, Tensor]:
        """The diagnostics of the latest pass's last minibatch."""
        return dict(zip(self.names, self._latest.unbind(), strict=True))

    def means_of_last(self) -> dict[str, Tensor]:
        """The diagnostics as means over the minibatches of the latest pass."""
        return dict(zip(self.names, self._last.unbind(), strict=True))

    def means(self) -> dict[str, Tensor]:
        """The diagnostics as means over all minibatches so far."""
        return dict(zip(self.names, (self._sums / self._done).unbind(), strict=True))
