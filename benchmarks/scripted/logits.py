"""How a rule says what it does: logits of which one is far above the others."""

from __future__ import annotations

import torch
from torch import Tensor

SHARPNESS = 50.0  # a choice that is not the best is drawn once in e^50 times


def surely(chosen: Tensor, choices: int) -> Tensor:
    """(..., choices) float32: logits that are as good as the choice ``chosen`` (...)."""
    return SHARPNESS * (chosen[..., None] == torch.arange(choices, device=chosen.device)).float()
