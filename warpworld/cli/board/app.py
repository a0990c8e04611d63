"""Server of the board: a page, and the data that the page asks for. Everything is read, nothing is run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from warpworld.cli.board.board_page import board_page, board_script, board_style, replay_page
from warpworld.cli.board.compared import compared
from warpworld.cli.board.curves import Curves
from warpworld.cli.board.index import RunIndex
from warpworld.errors import WarpworldError
from warpworld.runs import RunFolder

MOST_SELECTED = 12  # runs that are overlaid
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; frame-src 'self'; "
)
POLICY += "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


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
        return JSONResponse(curves.of_runs(found, wanted))

    def about(request: Request) -> Response:
        return JSONResponse(compared(_runs(index, request)))

    def replay(request: Request) -> Response:
        for name, run in _runs(index, request).items():
            text, policy = _read_or_404(partial(replay_page, name, run, _iteration(request)))
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


def _iteration(request: Request) -> int | None:
    """The iteration that a request names; None without one, 404 for what is no iteration."""
    text = request.query_params.get("iteration")
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise HTTPException(404, "no such iteration")
    return int(text)


def _read_or_404(read: Callable[[], tuple[str, str]]) -> tuple[str, str]:
    try:
        return read()
    except WarpworldError as error:
        raise HTTPException(404, str(error)) from error
