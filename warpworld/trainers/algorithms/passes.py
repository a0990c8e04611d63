"""How far an on-policy update is: its rows, the passes over them, and what these came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from warpworld.trainers.algorithms.minibatches import Epoch, Minibatches

Orders = torch.Generator | Callable[[Tensor], Tensor]
"""What the orders of rows are drawn from; or what gives a pass's order, (rows,) int64, by its number, (1,) int64."""
Renewed = Callable[[], Tensor]
"""Gives new value targets of all rows, (rows,) float32."""


class Passes:
    """The passes of the present update. What changes from one to the next is on the device, in the same tensors always.

    Attributes:
        names: of the diagnostics that each minibatch has.
        minibatches: deals the rows of the present update.

    Args:
        names: see above.
        like: a tensor of the dtype of diagnostics, on their device.
    """

    minibatches: Minibatches

    def __init__(self, names: Sequence[str], like: Tensor) -> None:
        self.names = tuple(names)
        self._done = torch.zeros(1, dtype=torch.int64, device=like.device)
        self._sums, self._latest = like.new_zeros(len(self.names)), like.new_zeros(len(self.names))

    def tensors(self) -> list[Tensor]:
        """All that a pass changes here."""
        return [self._done, self._sums, self._latest]

    def begin(self, minibatches: Minibatches, orders: Orders, renewed: Renewed | None) -> None:
        """Begin with an update's first pass.

        Args:
            minibatches: of the rows.
            orders: of the passes.
            renewed: gives other value targets of all rows for another pass; None keeps those there are.
        """
        self.minibatches, self._orders, self._renewed = minibatches, orders, renewed
        for tensor in self.tensors():
            tensor.zero_()

    def drop(self) -> None:
        """Give the rows' memory back, behind an update without CUDA graphs."""
        del self.minibatches, self._orders, self._renewed

    def renew(self) -> None:
        """Let the rows have the value targets of another pass."""
        if self._renewed is not None:
            self.minibatches.retarget(self._renewed())

    def deal(self, count: int) -> Epoch:
        """The minibatches of the present pass, or of more of them."""
        orders = self._orders
        return self.minibatches.deal(orders if isinstance(orders, torch.Generator) else orders(self._done), count)

    def end(self, rows: Tensor, count: int) -> None:
        """End the passes that were dealt, with the diagnostics of their minibatches, (minibatches, names)."""
        for of_pass in rows.split(len(rows) // count):
            self._sums.add_(of_pass.mean(0))
        self._latest.copy_(rows[-1])
        self._done.add_(count)

    def rows_of(self, found: Sequence[Mapping[str, Tensor]]) -> Tensor:
        """What ``end`` takes, of the diagnostics of each minibatch by name, () each."""
        return torch.stack([each[name] for each in found for name in self.names]).view(len(found), -1)

    def latest(self) -> dict[str, Tensor]:
        """The diagnostics of the latest pass's last minibatch."""
        return dict(zip(self.names, self._latest.unbind(), strict=True))

    def means(self) -> dict[str, Tensor]:
        """The diagnostics as means over all minibatches so far."""
        return dict(zip(self.names, (self._sums / self._done).unbind(), strict=True))
