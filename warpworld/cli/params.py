"""`warpworld params`: every key of a config, or of an environment, with its default and what it is."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warpworld.config import Key

COLUMN = 40  # of the comments


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    params = commands.add_parser(
        "params",
        help="every key of a config or an environment, with its default and what it is",
        description="Print every key of a config, as YAML that trains the same: its value, what it is and, where the "
        "value is another, the default. Of an environment without a config, its parameters.",
    )
    params.add_argument(
        "name", metavar="NAME", help="a YAML file, a packaged config, or an environment: module:Class or a .py file"
    )
    params.add_argument("words", metavar="key=value", nargs="*", default=[], help="overrides, as for `warpworld train`")
    params.set_defaults(command=_params, settings="words")


def _params(arguments: argparse.Namespace) -> int:
    print("\n".join(_lines(_keys(arguments.name, arguments.words))))
    return 0


def _keys(name: str, words: Sequence[str]) -> Iterable[Key]:
    from warpworld.config import Document, Key, described, described_params, load_config
    from warpworld.config.settings import checked_params
    from warpworld.environment import environment_names, get_environment
    from warpworld.importing import split_file
    from warpworld.packaged import PRETRAINED, packaged_configs

    # settings of a config, also if an environment has its name
    names_class = ":" in name and not name.startswith(PRETRAINED) and not Path(name).exists()
    is_environment = bool(split_file(name)[0]) or names_class
    if not is_environment and (name in packaged_configs() or name not in environment_names()):
        return described(load_config(name, words))
    # parameters of an environment
    cls, document = get_environment(name), Document("the command line", {})
    for word in words:
        document.override(word)
    values = checked_params(cls, document.data.get("env") or {}, document)
    return [Key(("env",), f"the parameters of {cls.name}", is_section=True), *described_params(cls, values)]


def _lines(keys: Iterable[Key]) -> Iterator[str]:
    """YAML, a line for each key, and an empty one before each section."""
    from warpworld.config import NO_DEFAULT, dump_value

    for number, key in enumerate(keys):
        if len(key.path) == 1 and number:
            yield ""
        about = [key.about] if key.about else []
        if not key.is_section and key.default is NO_DEFAULT:
            about.append("required")
        elif not key.is_section and not key.is_default:
            about.append(f"default {dump_value(key.default)}")
        value = "" if key.is_section else f" {dump_value(key.value)}"
        line = f"{'  ' * (len(key.path) - 1)}{key.path[-1]}:{value}"
        yield f"{line:{COLUMN - 2}}  # {'; '.join(about)}" if about else line
