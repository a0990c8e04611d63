"""Limits of single parameters: a range of numbers, declared in the annotation of a field, or a choice of words."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from warpworld.errors import DeclarationError

LARGEST = float(np.finfo(np.float32).max)  # finite for kernels, which take numbers as float32
_POWERS = (31, 32, 63, 64)  # of two, near which a limit is written as a difference


@dataclass(frozen=True)
class Range:
    """The numbers that a parameter may be, as in ``length: Annotated[int, Range(1, 1024)] = 8``.

    Without an end it is open to the largest float32, which kernels take, so ``Range()`` is all finite numbers.

    Attributes:
        low: the lowest number; None if there is none, or ``above`` is given.
        high: the highest number; None if there is none, or ``below`` is given.
        above: an exclusive lower limit.
        below: an exclusive upper limit.
    """

    low: float | None = None
    high: float | None = None
    _: KW_ONLY
    above: float | None = None
    below: float | None = None

    def __contains__(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            return False
        lowest = -LARGEST if self.low is None else self.low
        highest = LARGEST if self.high is None else self.high
        is_above = self.above is None or value > self.above
        return bool(lowest <= value <= highest and is_above and (self.below is None or value < self.below))

    def __str__(self) -> str:
        if self.low is not None and self.high is not None:
            return f"{_written(self.low)} to {_written(self.high)}"
        limits = {"above ": self.above, "of at least ": self.low, "below ": self.below, "of at most ": self.high}
        parts = [f"{words}{_written(limit)}" for words, limit in limits.items() if limit is not None]
        kind = "a number" if len(parts) == 2 else "a finite number"
        return f"{kind} {' and '.join(parts)}".rstrip()

    def check(self, name: str, value: Any, why: str = "") -> None:
        """Refuse a value outside the range, for limits that depend on another parameter.

        Args:
            name: the parameter.
            value: its value.
            why: what the message adds after the range.

        Raises:
            DeclarationError: the value is outside.
        """
        if value not in self:
            raise DeclarationError(f"{name}={value!r}: expected {self}{why}")


@dataclass(frozen=True)
class Choice:
    """The values that a parameter annotated with ``Literal`` may have."""

    options: tuple[Any, ...]

    def __contains__(self, value: Any) -> bool:
        return any(type(value) is type(option) and value == option for option in self.options)

    def __str__(self) -> str:
        *others, last = map(repr, self.options)
        return f"{', '.join(others)} or {last}" if others else last


def _written(limit: float) -> str:
    """A limit as messages show it: 2147483647 is 2^31 - 1."""
    for power in _POWERS if isinstance(limit, int) else ():
        if 0 < 2**power - limit < 10:
            return f"2^{power} - {2**power - limit}"
    return str(limit) if isinstance(limit, int) else f"{limit:.10g}"
