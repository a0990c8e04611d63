"""Server of a game: a page, the steps that the page asks for, and the game as files. One page plays at a time."""

from __future__ import annotations

import json
import secrets
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from warpworld.cli.play.game import Game
from warpworld.cli.play.game_data import data_of
from warpworld.cli.play.play_page import play_page, play_script, play_style
from warpworld.cli.play.saving import Folder, file_name, replay_of
from warpworld.errors import RunError

MOST_BYTES = 4096  # of a request's body
JSON_TYPE = "application/json"  # of a body: a page elsewhere cannot send it without asking first
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


def make_app(game: Game, folder: Folder | None = None) -> Starlette:
    """A game as an ASGI application. All requests are answered by one thread, so that steps follow each other.

    Args:
        game: that is played.
        folder: where games are saved when they end; None saves none.
    """
    player = _Player(game, folder)
    return Starlette(
        routes=[
            Route("/", _page(game)),
            Route("/play.css", _text(play_style, "text/css")),
            Route("/play.js", _text(play_script, "text/javascript")),
            Route("/api/start", player.start, methods=["POST"]),
            Route("/api/step", player.step, methods=["POST"]),
            Route("/api/again", player.again, methods=["POST"]),
            Route("/game.html", player.replay),
            Route("/game.npz", player.data),
        ],
    )


def _page(game: Game) -> Any:
    async def page(request: Request) -> Response:
        return HTMLResponse(play_page(game.title), headers={"Content-Security-Policy": POLICY})

    return page


def _text(make: Any, media_type: str) -> Any:
    async def text(request: Request) -> Response:
        return Response(make(), media_type=media_type)

    return text


class _Player:
    """Answers the page that was opened last."""

    def __init__(self, game: Game, folder: Folder | None) -> None:
        self._game, self._folder, self._seat = game, folder, ""

    async def start(self, request: Request) -> Response:
        """The game and its present frame; from now on the page that asks is the one that plays."""
        await _body(request)
        self._seat = secrets.token_hex(16)
        self._game.forget_marks()
        return JSONResponse({"seat": self._seat, **self._game.about(), "frame": self._game.frame()})

    async def step(self, request: Request) -> Response:
        """The next frame."""
        body = await self._of_this_page(request)
        try:
            frame = self._game.step(body.get("choices"))
        except RunError as error:
            raise HTTPException(400, str(error)) from error
        saved = self._folder.save(self._game) if self._folder and self._game.has_ended else []
        return JSONResponse({**frame, "saved": [path.name for path in saved]})

    async def again(self, request: Request) -> Response:
        """The first frame of the next episode."""
        await self._of_this_page(request)
        return JSONResponse(self._game.again())

    async def replay(self, request: Request) -> Response:
        """The episode so far, as a page."""
        return _file(replay_of(self._game), "text/html", f"{file_name(self._game)}.html")

    async def data(self, request: Request) -> Response:
        """The episode so far, as arrays."""
        return _file(data_of(self._game), "application/zip", f"{file_name(self._game)}.npz")

    async def _of_this_page(self, request: Request) -> dict[str, Any]:
        """The body of a request of the page that plays; 409 for any other page."""
        body = await _body(request)
        if not self._seat or not secrets.compare_digest(str(body.get("seat")).encode(), self._seat.encode()):
            raise HTTPException(409, "another page plays this game")
        return body


def _file(content: str | bytes, media_type: str, name: str) -> Response:
    """A file that a browser saves and does not show."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Content-Security-Policy": "sandbox"}
    return Response(content, media_type=media_type, headers=headers)


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object of a request that a page of this server made.

    Raises:
        HTTPException: 403 from elsewhere, 413 for a body that is too long, 415 or 400 for one that is no JSON object.
    """
    host = request.headers.get("host", "")
    if not host or urlsplit(request.headers.get("origin", "")).netloc != host:
        raise HTTPException(403, "expected a request of this server's own page")
    if request.headers.get("content-type", "").partition(";")[0].strip() != JSON_TYPE:
        raise HTTPException(415, f"expected {JSON_TYPE}")
    text = b""
    async for chunk in request.stream():
        text += chunk
        if len(text) > MOST_BYTES:
            raise HTTPException(413, f"expected at most {MOST_BYTES} bytes")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "expected JSON") from error
    if not isinstance(body, dict):
        raise HTTPException(400, "expected a JSON object")
    return body
