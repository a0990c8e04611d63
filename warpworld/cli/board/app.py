"""Server of the board: a page, and the data that the page asks for. Everything is read, nothing is run."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from warpworld.cli.board.board_page import board_page, board_script, board_style, replay_page
from warpworld.cli.board.curves import Curves
from warpworld.cli.board.index import RunIndex
from warpworld.config import read_saved
from warpworld.errors import ConfigError, WarpworldError
from warpworld.files import read_file, reason
from warpworld.runs import RunFolder, differing, flat, labels

HOSTS = ("127.0.0.1", "localhost")  # a page elsewhere whose name leads here must not read the board
MOST_SELECTED = 12  # runs that are overlaid
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; frame-src 'self'; "
)
POLICY += "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


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


def make_app(index: RunIndex) -> Starlette:
    """The board of an index, as an ASGI application."""
    curves = Curves()

    def page(request: Request) -> Response:
        return HTMLResponse(board_page(index.folder), headers={"Content-Security-Policy": POLICY})

    def runs(request: Request) -> Response:
        since = request.query_params.get("since", "0")
        return JSONResponse(index.changes(int(since) if since.isdecimal() and len(since) < 16 else 0))

    def curves_of(request: Request) -> Response:
        wanted = request.query_params.getlist("metric")
        found = _runs(index, request)
        return JSONResponse({name: _read(partial(curves.of, run, wanted)) for name, run in found.items()})

    def about(request: Request) -> Response:
        return JSONResponse(_compared(_runs(index, request)))

    def replay(request: Request) -> Response:
        for name, run in _runs(index, request).items():
            text, policy = _read_or_404(partial(replay_page, name, run))
            return HTMLResponse(text, headers={"Content-Security-Policy": policy})
        raise HTTPException(404, "no run is named")

    return Starlette(
        routes=[
            Route("/", page),
            Route("/board.css", lambda request: Response(board_style(), media_type="text/css")),
            Route("/board.js", lambda request: Response(board_script(), media_type="text/javascript")),
            Route("/api/runs", runs),
            Route("/api/curves", curves_of),
            Route("/api/about", about),
            Route("/replay", replay),
        ],
        middleware=[Middleware(_Headers), Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS))],
    )


def _runs(index: RunIndex, request: Request) -> dict[str, RunFolder]:
    """The runs that a request names, of those that the folder lists; 404 for any other name."""
    found = {}
    for name in request.query_params.getlist("run")[:MOST_SELECTED]:
        run = index.find(name)
        if run is None:
            raise HTTPException(404, "no such run")
        found[name] = run
    return found


def _read(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what was read, or the problem that there was."""
    try:
        return read()
    except (WarpworldError, OSError) as error:
        return {"problem": reason(error) if isinstance(error, OSError) else str(error)}


def _read_or_404(read: Callable[[], tuple[str, str]]) -> tuple[str, str]:
    try:
        return read()
    except WarpworldError as error:
        raise HTTPException(404, str(error)) from error


def _compared(runs: Mapping[str, RunFolder]) -> dict[str, Any]:
    """Labels, settings and league tables of runs: settings of one run are all of its own, of several what differs."""
    names: list[str] = []
    settings: list[Mapping[str, Any]] = []
    for name, run in runs.items():
        with contextlib.suppress(ConfigError):  # the list says what is wrong with it
            settings.append(read_saved(run.config_path).settings)
            names.append(name)
    if len(settings) == 1:
        rows = {key: [value if isinstance(value, str) else json.dumps(value)] for key, value in flat(settings[0])}
    else:
        rows = differing(settings)
    leagues = {name: league for name, run in runs.items() if (league := _league(run)) is not None}
    return {"names": names, "labels": labels(settings, names), "settings": rows, "leagues": leagues}


def _league(run: RunFolder) -> dict[str, Any] | None:
    """The table that ``warpworld league`` wrote, as far as it is one."""
    try:
        found = json.loads(read_file(run.path / "league.json"))
        rows, columns = ([str(name) for name in found[key]] for key in ("rows", "columns"))
        rates = [[None if rate is None else float(rate) for rate in line] for line in found["win_rates"]]
        ratings = [float(rating) for rating in found["row_ratings"]]
        heading = f"{found['policy']} against {found['against']}, {int(found['episodes'])} episodes of each pair"
    except (OSError, ValueError, LookupError, TypeError, RecursionError, OverflowError):
        return None
    if len(ratings) != len(rows) or [len(line) for line in rates] != [len(columns)] * len(rows):
        return None
    return {"heading": heading, "rows": rows, "columns": columns, "win_rates": rates, "ratings": ratings}
