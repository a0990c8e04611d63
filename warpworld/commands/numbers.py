"""Numbers on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def at_least(lowest: int) -> Callable[[str], int]:
    """An argparse type: whole numbers from ``lowest``, underscores between digits allowed."""

    def convert(text: str) -> int:
        digits = text.replace("_", "")
        if not (digits.isascii() and digits.isdecimal()) or int(digits) < lowest:
            raise argparse.ArgumentTypeError(f"{text!r}, expected a whole number of at least {lowest}")
        return int(digits)

    return convert
