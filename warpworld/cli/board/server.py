"""Serves the board on this machine alone, until it is interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from warpworld.cli import local_server
from warpworld.cli.board.app import make_app
from warpworld.cli.board.index import RunIndex


@contextmanager
def watched(index: RunIndex) -> Iterator[None]:
    """Keep the index up to date in a thread of its own."""
    watcher = threading.Thread(target=index.watch, name="board", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        index.close()
        watcher.join()


@contextmanager
def served(index: RunIndex) -> Iterator[str]:
    """Serve the board in a thread of its own, on any free port; gives its address. The index is not kept up to date."""
    with local_server.served(make_app(index)) as address:
        yield address


def serve(index: RunIndex, port: int, report: Callable[[int], None]) -> None:
    """Serve the board until it is interrupted.

    Args:
        index: of the folder.
        port: to listen on, or the next one that is free.
        report: is called with the port.

    Raises:
        RunError: no port is free.
    """
    bound = local_server.bind(port)
    report(bound.getsockname()[1])
    with bound, watched(index):
        local_server.make_server(make_app(index)).run(sockets=[bound])
