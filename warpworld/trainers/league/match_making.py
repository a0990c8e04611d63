"""Probabilities and draws of the next opponents."""

from __future__ import annotations

from collections.abc import Sequence

import torch

HARDNESS = 2.0  # exponent of prioritised match-making


def chances(win_rates: Sequence[float], match_making: str) -> list[float]:
    """Probability of each opponent to be drawn.

    "prioritised" is the fictitious self-play of Vinyals et al. (2019, "Grandmaster level in StarCraft II using
    multi-agent reinforcement learning", methods), with its weighing f_hard: in proportion to (1 - win rate)^2. Where
    every opponent is always beaten, and for "uniform", all are as likely.

    Args:
        win_rates: of the present self against each, in [0, 1]; at least one.
        match_making: "prioritised" or "uniform".

    Returns:
        Probabilities that add up to 1.
    """
    weights = [(1.0 - rate) ** HARDNESS if match_making == "prioritised" else 1.0 for rate in win_rates]
    if sum(weights) == 0.0:
        weights = [1.0] * len(weights)
    return [weight / sum(weights) for weight in weights]


def draw(probabilities: Sequence[float], count: int, generator: torch.Generator) -> list[int]:
    """Indices of ``count`` opponents: different ones where there are enough of them."""
    weights = torch.tensor(probabilities, dtype=torch.float64)
    enough = int((weights > 0).sum()) >= count
    return torch.multinomial(weights, count, replacement=not enough, generator=generator).tolist()
