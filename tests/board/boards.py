"""A board that tests ask, on a port of its own; its index is read when a test says so, and not in the background."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from warpworld.board.index import RunIndex
from warpworld.board.server import bind, make_server


@dataclass(frozen=True)
class Board:
    """A board that is being served."""

    index: RunIndex
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, Mapping[str, str], str]:
        """Status, headers and text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def json(self, path: str, words: list[tuple[str, str]] | None = None) -> Any:
        status, _, text = self.ask(f"{path}?{urlencode(words or [])}")
        assert status == 200, text
        return json.loads(text)


@contextmanager
def board_of(folder: Path) -> Iterator[Board]:
    """Serve the runs of a folder, which have been read once."""
    index = RunIndex(folder)
    index.refresh()
    server, bound = make_server(index), bind(0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        yield Board(index, bound.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
