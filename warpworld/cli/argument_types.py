"""Checks of numbers on the command line, for argparse."""

from __future__ import annotations

import argparse
import math
import reprlib
from collections.abc import Callable
from typing import Any, Literal

LARGEST = 2**63 - 1
MOST_EPISODES = 10_000_000  # their returns are kept until the end


def at_least(lowest: int, highest: int = LARGEST) -> Callable[[str], int]:
    """An argparse type: whole numbers from ``lowest`` to ``highest``, underscores between digits allowed."""

    def convert(text: str) -> int:
        digits = text.replace("_", "")
        is_number = digits.isascii() and digits.isdecimal()
        too_long = is_number and len(digits.lstrip("0")) > len(str(highest))  # Python itself refuses very long ones
        if not is_number or (not too_long and int(digits) < lowest):
            raise _refused(text, f"a whole number of at least {lowest}")
        if too_long or int(digits) > highest:
            raise _refused(text, f"a whole number of at most {highest:,}")
        return int(digits)

    return convert


def checkpoint(text: str) -> int | Literal["best"]:
    """An argparse type: an iteration, or "best"."""
    if text == "best":
        return "best"
    try:
        return at_least(0)(text)
    except argparse.ArgumentTypeError as error:
        raise _refused(text, "an iteration, or best for the weights with the best evaluation") from error


# What every command that plays a run's policies takes as --checkpoint.
FORMAT: dict[str, Any] = {
    "choices": ("text", "json"),
    "default": "text",
    "help": "text for people, or one JSON document on standard output, of errors too (default: text)",
}
CHECKPOINT: dict[str, Any] = {
    "type": checkpoint,
    "metavar": "ITERATION|best",
    "help": "policies of this iteration, or those with the best evaluation (default: the latest)",
}
SIMULATIONS: dict[str, Any] = {
    "type": at_least(0, 4096),
    "metavar": "N",
    "help": "simulations of the search before each move of policies of gumbel_zero, 0 for none (default: as set)",
}


def seconds(text: str) -> float:
    """An argparse type: seconds, finite and more than 0."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not (math.isfinite(found) and found > 0):
        raise _refused(text, "a number of seconds that is more than 0")
    return found


def _refused(text: str, expected: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"{reprlib.repr(text)}, expected {expected}")
