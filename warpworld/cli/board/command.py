"""`warpworld board`: a local page over all runs of a folder."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import Any

from warpworld.cli.argument_types import at_least
from warpworld.errors import RunError, suggest

PORT, LAST_PORT = 8300, 65535


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    board = commands.add_parser(
        "board",
        help="a local page over all runs, live while they train",
        description="Serve a page over all runs of a folder on this machine: curves, settings that differ, replays, "
        "league tables and speed. It reads the runs, and starts and stops nothing. "
        "Needs pip install 'warpworld[board]'.",
    )
    board.add_argument("folder", metavar="FOLDER", nargs="?", default="runs", help="of the runs (default: runs)")
    board.add_argument(
        "--port",
        type=at_least(0, LAST_PORT),
        default=PORT,
        help=f"port on 127.0.0.1, or the next free one (default: {PORT}; 0: any)",
    )
    board.set_defaults(command=_board)


def _board(arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    # packages that the board alone needs
    try:
        from warpworld.cli.board.server import serve
    except ImportError as error:
        missing = error.name or "a package"
        raise RunError(f"the board needs {missing}, which is not installed: pip install 'warpworld[board]'") from error
    from warpworld.cli.board.index import RunIndex

    # the runs, served until Ctrl-C
    folder = Path(arguments.folder)
    _check_folder(folder)
    index = RunIndex(folder)

    def report(port: int) -> None:
        if arguments.port not in (0, port):
            print(f"port {arguments.port} is in use, taking {port}")
        print(f"the runs in {folder}: http://127.0.0.1:{port}/ (Ctrl-C ends it)", flush=True)

    with contextlib.suppress(KeyboardInterrupt):  # how it is meant to end
        serve(index, arguments.port, report)
    return 0


def _check_folder(folder: Path) -> None:
    """Refuse what is no folder of runs.

    Raises:
        RunError: it is not there, is a file, or is a single run.
    """
    if not folder.is_dir():
        kind = "is a file" if folder.exists() else "does not exist"
        beside = [entry.name for entry in folder.parent.iterdir() if entry.is_dir()] if folder.parent.is_dir() else []
        raise RunError(f"'{folder}' {kind}, expected a folder with run folders.{suggest(folder.name, beside)}")
    if (folder / "config.yaml").exists():
        raise RunError(f"'{folder}' is a run, expected a folder with run folders, such as '{folder.resolve().parent}'")
