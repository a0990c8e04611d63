"""The run that a command plays: a folder, or a policy that comes with the package."""

from __future__ import annotations

import argparse

from warpworld.packaged import PRETRAINED


def add_run(parser: argparse.ArgumentParser, about: str) -> None:
    """Add the run that a command plays, as a word or as ``--pretrained NAME``; ``take_run`` reads them.

    Args:
        parser: of the command, before its overrides are added.
        about: what the word may be.
    """
    parser.add_argument("run", metavar="RUN", nargs="?", help=f"{about}; or {PRETRAINED}NAME")
    parser.add_argument("--pretrained", metavar="NAME", help=f"a policy that comes with warpworld: {PRETRAINED}NAME")
    parser.set_defaults(error=parser.error)


def take_run(arguments: argparse.Namespace) -> None:
    """Let ``arguments.run`` be the run that was asked for; with ``--pretrained`` all words are overrides."""
    if arguments.pretrained is not None:
        arguments.overrides = [*([arguments.run] if arguments.run else []), *arguments.overrides]
        arguments.run = f"{PRETRAINED}{arguments.pretrained}"
    elif arguments.run is None:
        arguments.error("expected RUN, or --pretrained NAME")
