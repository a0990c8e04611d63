"""Servers on this machine alone: the board's, and that of games that people play. Only they load this file."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.datastructures import MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from warpworld.errors import RunError

ADDRESS = "127.0.0.1"
HOSTS = (ADDRESS, "localhost")  # a page elsewhere whose name leads here must not read what is served
MOST_PORTS = 100  # that are tried, one after the other
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _Headers:
    """Puts ``HEADERS`` on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def guarded(app: ASGIApp) -> ASGIApp:
    """An application with ``HEADERS`` on every answer, and a refusal of requests for other hosts."""
    return _Headers(TrustedHostMiddleware(app, allowed_hosts=list(HOSTS)))


def bind(port: int) -> socket.socket:
    """A listening socket on the first free port from ``port`` on; 0 takes any.

    Raises:
        RunError: none of ``MOST_PORTS`` ports is free.
    """
    last = min(port + MOST_PORTS - 1, 65535) if port else 0
    for tried in range(port, last + 1):
        # By this protocol asyncio recognises TCP, and sends at once what is small: else each answer waits for 40 ms.
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((ADDRESS, tried))
            bound.listen()
        except OSError:
            bound.close()
            continue
        return bound
    raise RunError(f"none of the ports {port} to {last} is free on {ADDRESS}; give another one with --port")


def make_server(app: ASGIApp) -> uvicorn.Server:
    """The server of a guarded application; ``run`` it on a bound socket, and set ``should_exit`` to end it."""
    config = uvicorn.Config(guarded(app), log_level="warning", access_log=False, server_header=False, ws="none")
    return uvicorn.Server(config)


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Serve an application in a thread of its own, on any free port; gives its address."""
    server, bound = make_server(app), bind(0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        yield f"http://{ADDRESS}:{bound.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
