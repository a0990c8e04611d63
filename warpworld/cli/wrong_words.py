"""Errors of the command line: words that are not known, and documents for programs where `--format json` is given."""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from warpworld.near_names import nearest
from warpworld.text import print_json

_PLACE = re.compile(r"^(?P<file>[^\s:][^:\n]*?)(?::|, line )(?P<line>\d+)(?::(?P<column>\d+))?: ")


def asks_for_json(words: Sequence[str]) -> bool:
    """Whether a command's words ask for JSON: known before they are parsed, since they may be wrong."""
    pairs = [*itertools.pairwise(words), *(word.split("=", 1) for word in words if "=" in word)]
    return any(each[0].startswith("--fo") and "--format".startswith(each[0]) and each[1] == "json" for each in pairs)


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


def unknown_words(words: Sequence[str], parser: argparse.ArgumentParser, takes_settings: bool) -> str:
    """Message about words that a command does not know.

    Args:
        words: those that are left over.
        parser: of the command.
        takes_settings: whether it takes ``key=value``.
    """
    answer = f"unrecognized arguments: {' '.join(words)}"
    option, equals, value = words[0].partition("=")
    if not option.startswith("--"):
        return answer
    near = nearest(option, [each for action in parser._actions for each in action.option_strings])
    if near is not None:
        return f"{answer}. Did you mean {near}?"
    if not takes_settings:
        return answer
    value = value if equals else words[1] if len(words) > 1 else "VALUE"
    return f"{answer}; settings are written key=value: {option[2:].replace('-', '_')}={value}"
