"""Values on a scale that grows with their square root, so that rewards of any size can be learnt from."""

from __future__ import annotations

from torch import Tensor

EPSILON = 1e-3  # keeps the inverse from growing without bounds


def rescaled(values: Tensor) -> Tensor:
    """h(x) = sign(x) (sqrt(|x| + 1) - 1) + epsilon x (Pohlen et al. 2018, arXiv 1805.11593, equation 1)."""
    return values.sign() * ((values.abs() + 1).sqrt() - 1) + EPSILON * values


def unscaled(values: Tensor) -> Tensor:
    """The inverse of ``rescaled`` (the same paper, proposition A.2 iii).

    With more = |x| + 1 + epsilon and root = sqrt(1 + 4 epsilon more), the paper's (root - 1) / (2 epsilon) is written
    as 2 more / (1 + root), which loses no digits in float32.
    """
    more = values.abs() + 1 + EPSILON
    return values.sign() * ((2 * more / (1 + (1 + 4 * EPSILON * more).sqrt())) ** 2 - 1)
