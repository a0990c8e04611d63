"""Values on a scale that grows with their square root, so that rewards of any size can be learnt from."""

from __future__ import annotations

from torch import Tensor

EPSILON = 1e-3  # keeps the inverse from growing without bounds


def rescaled(values: Tensor) -> Tensor:
    """h(x) = sign(x) (sqrt(|x| + 1) - 1) + epsilon x (Pohlen et al. 2018, arXiv 1805.11593, equation 1)."""
    return values.sign() * ((values.abs() + 1).sqrt() - 1) + EPSILON * values


def unscaled(values: Tensor) -> Tensor:
    """The inverse of ``rescaled`` (the same paper, proposition A.2 iii)."""
    root = (1 + 4 * EPSILON * (values.abs() + 1 + EPSILON)).sqrt()
    return values.sign() * (((root - 1) / (2 * EPSILON)) ** 2 - 1)
