"""Serves the board on this machine alone, until it is interrupted."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from warpworld.cli.board.app import make_app
from warpworld.cli.board.index import RunIndex
from warpworld.errors import RunError

ADDRESS = "127.0.0.1"
MOST_PORTS = 100  # that are tried, one after the other


def bind(port: int) -> socket.socket:
    """A listening socket on the first free port from ``port`` on; 0 takes any.

    Raises:
        RunError: none of ``MOST_PORTS`` ports is free.
    """
    last = min(port + MOST_PORTS - 1, 65535) if port else 0
    for tried in range(port, last + 1):
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((ADDRESS, tried))
            bound.listen()
        except OSError:
            bound.close()
            continue
        return bound
    raise RunError(f"none of the ports {port} to {last} is free on {ADDRESS}; give another one with --port")


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


def make_server(index: RunIndex) -> uvicorn.Server:
    """The server of the index's board; ``run`` it on a bound socket, and set ``should_exit`` to end it."""
    config = uvicorn.Config(make_app(index), log_level="warning", access_log=False, server_header=False, ws="none")
    return uvicorn.Server(config)


@contextmanager
def served(index: RunIndex) -> Iterator[str]:
    """Serve the board in a thread of its own, on any free port; gives its address. The index is not kept up to date."""
    server, bound = make_server(index), bind(0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        yield f"http://{ADDRESS}:{bound.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


def serve(index: RunIndex, port: int, report: Callable[[int], None]) -> None:
    """Serve the board until it is interrupted.

    Args:
        index: of the folder.
        port: to listen on, or the next one that is free.
        report: is called with the port.

    Raises:
        RunError: no port is free.
    """
    bound = bind(port)
    report(bound.getsockname()[1])
    with bound, watched(index):
        make_server(index).run(sockets=[bound])
