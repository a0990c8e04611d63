"""A curve in a line of text."""

from __future__ import annotations

import numpy as np

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = "_.-=+*#@"
MOST = 512  # numbers that are kept


class Sparkline:
    """Numbers that come one by one, drawn as bars from their lowest to their highest; long ones in equal parts."""

    def __init__(self) -> None:
        self._means: list[float] = []
        self._each, self._sum, self._count = 1, 0.0, 0  # how many numbers a mean is of; of the one under way

    def append(self, value: float) -> None:
        """Take in a finite number."""
        self._sum, self._count = self._sum + value, self._count + 1
        if self._count == self._each:
            self._means.append(self._sum / self._each)
            self._sum, self._count = 0.0, 0
        if len(self._means) == MOST:
            self._means = [(a + b) / 2 for a, b in zip(self._means[::2], self._means[1::2], strict=True)]
            self._each *= 2

    def drawn(self, width: int = 24, ascii_only: bool = False) -> str:
        """At most ``width`` characters; "" where there is nothing to see yet, which takes two numbers."""
        if len(self._means) < 2:
            return ""
        parts = np.array_split(np.asarray(self._means), min(width, len(self._means)))
        heights = np.array([part.mean() for part in parts])
        low, high = heights.min(), heights.max()
        signs = ASCII if ascii_only else BLOCKS
        scale = (len(signs) - 1) / (high - low) if high > low else 0.0
        return "".join(signs[round(float((height - low) * scale))] for height in heights)
