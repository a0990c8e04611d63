"""Textures of walls before they are lit: ten colours, and stripes."""

from __future__ import annotations

import numpy as np

# Muted, about equally bright, for the eye; wall i of a plan has number i % 10.
PALETTE = (
    *("#b5838d", "#8fa998", "#c9a66b", "#7d93b2", "#a98bb8"),
    *("#9fae6e", "#c98f6b", "#6fa3a6", "#b0a08f", "#8c8fa8"),
)
GAMMA = 2.2  # of the colours above; light is added up in linear colours
DARKEST = 0.5  # of the stripes, before GAMMA
STRIPES_PER_METRE = 2.0


def linear_palette() -> np.ndarray:
    """The colours as light, (10, 4) float32: linear RGB of 0 to 1, and 0."""
    rgb = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in PALETTE]) / 255
    return np.pad(rgb**GAMMA, ((0, 0), (0, 1))).astype(np.float32)


def stripes(seed: int, plan: int, count: int, texel: float) -> np.ndarray:
    """Linear brightness of each texel of a plan, over all its walls one after the other.

    A stripe ends at a texel with such a probability that there are two a metre; the next one is brighter or darker by a
    normal step, turned over at the ends of the range.

    Args:
        seed: of the set of plans.
        plan: number of the plan.
        count: texels.
        texel: metres, the length of one.

    Returns:
        (count,) float32 of 0.5^2.2 to 1.
    """
    random = np.random.default_rng([seed, plan])
    begins = random.random(count) < min(STRIPES_PER_METRE * texel, 1.0)
    begins[:1] = True
    heights = random.standard_normal(int(begins.sum())).cumsum()
    shade = np.abs((heights + 1.0) % 2.0 - 1.0)  # a triangle wave: 0 .. 1
    brightness = DARKEST + (1.0 - DARKEST) * shade[begins.cumsum() - 1]
    return (brightness**GAMMA).astype(np.float32)
