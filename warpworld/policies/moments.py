"""Mean and variance of the rows that count."""

from __future__ import annotations

import torch
from torch import Tensor


def moments(rows: Tensor, mask: Tensor | None) -> tuple[Tensor | int, Tensor, Tensor]:
    """Number of rows that count, and of these the mean and the variance of the population; nothing is read to the host.

    Args:
        rows: (rows, features) float; what does not count may be anything.
        mask: (rows,) bool; None counts all.

    Returns:
        The number, on the device where there is a mask; two of (features,), 0 where no row counts.
    """
    if mask is None:
        variance, mean = torch.var_mean(rows, 0, correction=0)
        return len(rows), mean, variance
    counts, number = mask.unsqueeze(-1), mask.sum()
    divisor = number.clamp(min=1)
    mean = torch.where(counts, rows, 0.0).sum(0) / divisor
    return number, mean, torch.where(counts, (rows - mean) ** 2, 0.0).sum(0) / divisor


def variance_of(numbers: Tensor) -> Tensor:
    """The variance of a population, (rows,) float; 0 where no two numbers differ. Nothing is read to the host."""
    centred = numbers - numbers[0]
    centred -= centred.mean()
    return centred.dot(centred) / len(numbers)
