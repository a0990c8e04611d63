"""`warpworld new`: a small environment that works, to be made into one's own."""

from __future__ import annotations

import argparse
import importlib.util
import shlex
from pathlib import Path
from typing import Any

from warpworld.text import print_columns


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    new = commands.add_parser(
        "new",
        help="write a small environment that works, to be made into your own",
        description="Write a small multi-agent environment into a new folder: the declaration, the kernels, a config "
        "and a test; with --cpp a game for one player whose rules are a C++ class. Nothing is overwritten.",
    )
    new.add_argument("name", metavar="NAME", help="its name, such as walk_home; the class is then called WalkHome")
    new.add_argument("--into", metavar="FOLDER", default=".", help="where its folder is made (default: here)")
    new.add_argument("--cpp", action="store_true", help="one that calls a C++ class, and runs on a CPU alone")
    new.set_defaults(command=_new)


def _new(arguments: argparse.Namespace) -> int:
    from warpworld.cli.new.template import CPP_TEMPLATE, TEMPLATE, write_environment

    folder = write_environment(arguments.name, arguments.into, CPP_TEMPLATE if arguments.cpp else TEMPLATE)
    rows = [
        (f"{folder.name}.py", "what there is: groups, arrays, spaces, parameters; and how it looks"),
        *([(f"{folder.name}.hpp", "what happens: the class")] if arguments.cpp else []),
        (f"{folder.name}.cu", "the kernels, which call the class" if arguments.cpp else "what happens: the kernels"),
        (f"{folder.name}.yaml", "how it is trained"),
        (f"test_{folder.name}.py", "what holds: its rules, and a check of the kernels"),
        ("AGENTS.md", "for coding assistants: the commands, and what right answers look like"),
    ]
    print_columns([(str(folder / file), about) for file, about in rows])
    print("\nIt works as it is:")
    print_columns([(f"  {command}", about) for command, about in _next_commands(folder, arguments.cpp)])
    return 0


def _next_commands(folder: Path, is_cpp: bool) -> list[tuple[str, str]]:
    """Commands to try next, as they can be typed in the current folder, and what they do."""
    pytest = "python -m pytest" if importlib.util.find_spec("pytest") else "pip install pytest && python -m pytest"
    stem = shlex.quote(str(folder / folder.name))
    return [
        (f"warpworld train {stem}.yaml", "a player learns" if is_cpp else "thieves and guards learn"),
        (f"warpworld watch runs/{folder.name}-*", "replay.html, which plays what was learnt"),
        (f"warpworld check {stem}.py", "is there a race, or another fault, in the kernels?"),
        (f"{pytest} {shlex.quote(str(folder))}", "the tests"),
    ]
