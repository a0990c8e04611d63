"""A model of a user's own that draws from torch's global generator while it acts."""

from __future__ import annotations

import torch
from torch import Tensor

from warpworld.policies import MLP


class Drawing(MLP):
    """The plain model with a little noise in its outputs."""

    def actor(self, observations: Tensor) -> Tensor:
        outputs = super().actor(observations)
        return outputs + 0.01 * torch.randn(outputs.shape)
