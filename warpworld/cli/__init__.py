"""The command line: a command is a file of this folder, or a folder with what it alone uses."""

from warpworld.cli.main import main

__all__ = ["main"]
