"""Errors as JSON documents, for a program to act on, where a command is given `--format json`."""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from warpworld.text import print_json

_PLACE = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::(?P<column>\d+))?: ")


def asks_for_json(words: Sequence[str]) -> bool:
    """Whether a command's words ask for JSON: known before they are parsed, since they may be wrong."""
    return "--format=json" in words or ("--format", "json") in itertools.pairwise(words)


def print_error(kind: str, message: str, status: int) -> None:
    """Print the document of an error.

    It has the kind (the name of the exception's class), the message, the exit status, and where the message begins with
    a place, its file, line and column.
    """
    found = _PLACE.match(message)
    place: dict[str, Any] = {}
    if found:
        numbers = {name: int(found[name]) for name in ("line", "column") if found[name]}
        place = {"file": found["file"], **numbers}
    print_json({"error": {"kind": kind, "message": message, "status": status, **place}})


class Parser(argparse.ArgumentParser):
    """Parser whose errors are documents, too, where JSON is asked for."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and exit with status 2."""
        if asks_for_json(sys.argv[1:]):
            print_error("UsageError", message, 2)
        super().error(message)
