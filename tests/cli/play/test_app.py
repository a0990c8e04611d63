"""What the server of a game answers, and what it refuses."""

from __future__ import annotations

import http.client
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from tests.cli.play.named_worlds import Walkers, game_of
from warpworld.cli.play.saving import Folder
from warpworld.report import read_replay

local_server = pytest.importorskip("warpworld.cli.local_server", reason="no uvicorn: pip install 'warpworld[board]'")
pytestmark = pytest.mark.cpu_backend

JSON = "application/json"


@dataclass(frozen=True)
class Server:
    """A game that is being served."""

    address: str

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    def ask(self, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and content of an answer; with a body it is a POST."""
        connection = http.client.HTTPConnection(self.host, timeout=20)
        try:
            connection.request("GET" if body is None else "POST", path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        """Status, and what the JSON of an answer says, or its text."""
        own = {"Origin": f"http://{self.host}", "Content-Type": JSON, **headers}
        status, _, content = self.ask(path, body if isinstance(body, bytes) else json.dumps(body).encode(), **own)
        return status, json.loads(content) if status == 200 else content.decode()

    def start(self) -> dict[str, Any]:
        status, about = self.post("/api/start", {})
        assert status == 200
        return dict(about)


@contextmanager
def serving(folder: Path | None = None) -> Iterator[Server]:
    from warpworld.cli.play.app import make_app

    app = make_app(game_of(Walkers, "right"), Folder(folder) if folder else None)
    with local_server.served(app) as address:
        yield Server(address)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as served:
        yield served


def test_a_game_from_start_to_end(server: Server) -> None:
    about = server.start()
    assert (about["name"], about["agent"], about["frame"]["timestep"]) == ("right", 2, 0)
    assert about["heads"] == [{"names": ["wait", "go"], "keys": [[], ["right"]], "rests": True}]
    assert about["others"] == ["left: random actions"]
    for number in (1, 2, 3):
        status, frame = server.post("/api/step", {"seat": about["seat"], "choices": [1]})
        assert (status, frame["timestep"], frame["saved"]) == (200, number, [])
    assert server.post("/api/step", {"seat": about["seat"], "choices": [1]})[0] == 400
    status, frame = server.post("/api/again", {"seat": about["seat"]})
    assert (status, frame["episode"], frame["end"]) == (200, 2, "")


def test_the_page_loads_nothing_from_elsewhere(server: Server) -> None:
    status, headers, content = server.ask("/")
    assert status == 200 and b"Walkers: play</title>" in content
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers
    for path, kind in (("/play.js", "text/javascript"), ("/play.css", "text/css")):
        assert server.ask(path)[1]["Content-Type"].startswith(kind)


def test_the_page_that_started_last_plays(server: Server) -> None:
    first, second = server.start()["seat"], server.start()["seat"]
    for path in ("/api/step", "/api/again"):
        assert server.post(path, {"seat": first, "choices": [0]}) == (409, "another page plays this game")
        assert server.post(path, {"choices": [0]})[0] == 409
    assert server.post("/api/step", {"seat": second, "choices": [0]})[0] == 200


OWN = "expected a request of this server's own page"


@pytest.mark.parametrize(
    ("headers", "body", "status", "text"),
    [
        ({"Host": "example.org"}, {}, 400, "Invalid host header"),
        ({"Origin": "http://example.org"}, {}, 403, OWN),
        ({"Origin": "null"}, {}, 403, OWN),
        ({"Origin": ""}, {}, 403, OWN),
        ({"Content-Type": "text/plain"}, {}, 415, "expected application/json"),
        ({}, {"seat": "x" * 4096}, 413, "expected at most 4096 bytes"),
        ({}, b"{", 400, "expected JSON"),
        ({}, b"[" * 4000, 400, "expected JSON"),
        ({}, b"\xff", 400, "expected JSON"),
        ({}, [], 400, "expected a JSON object"),
    ],
)
def test_requests_that_are_refused(server: Server, headers: dict[str, str], body: Any, status: int, text: str) -> None:
    for path in ("/api/start", "/api/step", "/api/again"):
        assert server.post(path, body, **headers) == (status, text)


def test_other_ports_of_this_machine_are_elsewhere(server: Server) -> None:
    assert server.post("/api/start", {}, Origin="http://127.0.0.1:1") == (403, OWN)


@pytest.mark.parametrize("choices", [None, [7], [0, 0], "0", [[0]], [1e9]])
def test_choices_that_there_are_not(server: Server, choices: Any) -> None:
    status, text = server.post("/api/step", {"seat": server.start()["seat"], "choices": choices})
    assert status == 400 and text.startswith("choice")


def test_nothing_is_stepped_by_a_link(server: Server) -> None:
    assert server.ask("/api/step")[0] == 405
    assert server.ask("/board.js")[0] == 404


def test_the_game_so_far_as_files(server: Server, tmp_path: Path) -> None:
    seat = server.start()["seat"]
    server.post("/api/step", {"seat": seat, "choices": [1]})
    status, headers, page = server.ask("/game.html")
    assert status == 200 and headers["Content-Disposition"].endswith('Walkers-1.html"')
    assert headers["Content-Security-Policy"] == "sandbox"
    (tmp_path / "game.html").write_bytes(page)
    assert '"timestep":[0,1]' in read_replay(tmp_path / "game.html")
    status, headers, arrays = server.ask("/game.npz")
    assert status == 200 and headers["Content-Disposition"].endswith('Walkers-1.npz"')
    with np.load(io.BytesIO(arrays)) as data:
        assert data["right/actions"].ravel().tolist() == [1]


def test_games_that_end_are_saved(tmp_path: Path) -> None:
    with serving(tmp_path / "games") as server:
        seat = server.start()["seat"]
        frames = [server.post("/api/step", {"seat": seat, "choices": [1]})[1] for _ in range(3)]
    assert [len(frame["saved"]) for frame in frames] == [0, 0, 2]
    assert sorted(frames[2]["saved"]) == sorted(path.name for path in (tmp_path / "games").iterdir())
