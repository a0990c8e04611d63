"""A board that tests ask, on a port of its own; its index is read when a test says so, and not in the background."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from warpworld.cli.board.index import RunIndex
from warpworld.cli.board.server import served


@dataclass(frozen=True)
class Board:
    """A board that is being served."""

    index: RunIndex
    address: str

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

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
    with served(index) as address:
        yield Board(index, address)
